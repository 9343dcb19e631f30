-- Returns the accounts' phone numbers that a carrier may mean by these digits, with or without a country code, and
-- the menu that answers; the exact number first. A frozen account receives no calls.
create or replace function find_called_number(p_digits text)
returns table (account_id bigint, country_code text, number text, content jsonb)
language plpgsql stable as $$
declare
  v_number phone_numbers;
begin
  for v_number in
    select * from phone_numbers n where right(n.number, 10) = right(p_digits, 10)
    order by n.number = p_digits desc, n.number
  loop
    account_id := v_number.account_id;
    number := v_number.number;
    select a.country_code into country_code from accounts a
      where a.account_id = v_number.account_id and a.frozen_at is null;
    continue when not found;
    content := case
      when v_number.menu_id is not null then menu_content(v_number.account_id, (
        select m.graph::jsonb from voice_menus m
        where m.account_id = v_number.account_id and m.id = v_number.menu_id))
      when v_number.agent_group_id is not null then jsonb_build_object('call_type', 'obd_ivr', 'menu',
        jsonb_build_object('start', 'agents', 'nodes', jsonb_build_object(
          'agents', jsonb_build_object('type', 'transfer', 'prompt', null,
            'to', jsonb_build_object('agent_group_id', v_number.agent_group_id), 'otherwise', 'busy'),
          -- Without a prompt, a message says that all agents are busy.
          'busy', '{"type": "hang_up", "prompt": null}'::jsonb))) end;
    return next;
  end loop;
end $$;
