/** Returns SQL for an event's data (json) with every value that contains the identity, a pattern, emptied. */
export function withoutNumber(data: string, pattern: string): string {
  return `(select coalesce(json_object_agg(d.key, case
      when json_typeof(d.value) = 'number' or d.value::text !~ ${pattern} then d.value
      when json_typeof(d.value) = 'string' then '""'::json
      when json_typeof(d.value) = 'array' then '[]'::json
      else '{}'::json end order by d.place), '{}')
    from json_each(${data}) with ordinality d (key, value, place))`;
}
