/** Returns SQL for an event's data (json) with all its texts that contain the number, a pattern, emptied. */
export function withoutNumber(data: string, pattern: string): string {
  return `(select coalesce(json_object_agg(d.key, case
      when json_typeof(d.value) = 'string' and d.value #>> '{}' ~ ${pattern} then '""'::json
      else d.value end order by d.place), '{}')
    from json_each(${data}) with ordinality d (key, value, place))`;
}
