-- Returns the accounts' phone numbers that a carrier may mean by these digits, with or without a country code, and
-- the menu that answers; the exact number first.
create or replace function find_called_number(p_digits text)
returns table (account_id bigint, country_code text, number text, content jsonb)
language sql stable as $$
  select n.account_id, a.country_code, n.number,
    case
      when n.menu_id is not null then (
        select menu_content(n.account_id, m.graph::jsonb) from voice_menus m
        where m.account_id = n.account_id and m.id = n.menu_id)
      when n.agent_group_id is not null then jsonb_build_object('call_type', 'obd_ivr', 'menu', jsonb_build_object(
        'start', 'agents', 'nodes', jsonb_build_object(
          'agents', jsonb_build_object('type', 'transfer', 'prompt', null,
            'to', jsonb_build_object('agent_group_id', n.agent_group_id), 'otherwise', 'busy'),
          -- Without a prompt, a message says that all agents are busy.
          'busy', '{"type": "hang_up", "prompt": null}'::jsonb))) end
  from phone_numbers n
  join accounts a on a.account_id = n.account_id
  where right(n.number, 10) = right(p_digits, 10)
  order by n.number = p_digits desc, n.number
$$;
