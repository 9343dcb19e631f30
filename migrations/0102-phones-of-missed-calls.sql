-- transaction: per statement
-- The erasure of a person does not find the phone on the timeline of a lead that has another phone now.
-- contract since 0101: versions before it write the phone, also in rows that are inserted meanwhile.
update lead_timeline set data = (data::jsonb - 'phone')::json
  where kind = 'missed_call' and data -> 'phone' is not null and batch_of(lead_timeline);
