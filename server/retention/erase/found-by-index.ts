// Rows that an index finds by the number, a batch per step.
import { statement } from "../../lib/database/database.ts";
import type { ErasedKind } from "../erasure-schema.ts";
import { change_rows, type Part } from "./part.ts";

export const eraseGroupMembers = repeat(
  "group_members",
  `delete from group_members m
   where m.account_id = $1 and m.id = any (array(
     select m.id from groups g
     cross join lateral (
       select m.id from group_members m
       where m.account_id = $1 and m.group_id = g.id and m.phone_key = phone_key($2)) m
     where g.account_id = $1 limit $3))
   returning 1`,
);

/** The provider's id of a message contains its sender's number, and is replaced too. */
export const eraseReplies = repeat(
  "replies",
  `update chat_replies r set phone = '', bsuid = null, text = null, payload = null, content = null,
     provider_message_id = 'erased.' || r.id
   where r.account_id = $1 and r.id = any (array(
     select o.id from chat_replies o
     where o.account_id = $1 and (o.phone = any (phone_spellings($2)) or o.bsuid = any (array(
       select b.bsuid from person_bsuids b where b.account_id = $1 and b.phone_key = phone_key($2))))
     order by o.id limit $3))
   returning 1`,
);

/** Webhooks that could not be read, and may be about the person. */
export const eraseUnreadWebhooks = repeat(
  null,
  `delete from chat_unread_webhooks u
   where u.account_id = $1 and u.id = any (array(
     select o.id from chat_unread_webhooks o
     where o.account_id = $1 and exists (
       select from unnest(phone_spellings($2) || array(
         select b.bsuid from person_bsuids b where b.account_id = $1 and b.phone_key = phone_key($2))) known
       where position(known in o.body::text) > 0)
     limit $3))
   returning 1`,
);

/** Pending chat notifications of calls; one that is being sent ends within seconds. */
export const eraseNotices = repeat(
  null,
  `delete from jobs j
   where j.account_id = $1 and j.kind = 'chat.notify_call' and j.id = any (array(
     select o.id from jobs o
     where o.account_id = $1 and o.kind = 'chat.notify_call' and o.payload ->> 'phone' = $2
       and o.lease_until is null
     limit $3))
   returning 1`,
);

/**
 * Suppressions stay, because the person would be contacted again without them; the words of a reply do not. A
 * WhatsApp user ID is kept with its number only as long as there is a suppression.
 */
export const eraseSuppressionTexts = repeat(
  null,
  `with texts as (
     update suppressions set evidence = evidence - 'text', reason = source
     where account_id = $1 and person_key = phone_key($2) and lifted_at is null
   ), lifted as (
     delete from suppressions
     where account_id = $1 and person_key = phone_key($2) and lifted_at is not null
   )
   delete from person_bsuids b
   where b.account_id = $1 and b.bsuid = any (array(
     select o.bsuid from person_bsuids o
     where o.account_id = $1 and o.phone_key = phone_key($2) and not exists (
       select from suppressions s
       where s.account_id = $1 and s.person_key = o.phone_key and s.lifted_at is null)
     limit $3))
   returning 1`,
);

function repeat(kind: ErasedKind | null, text: string): Part {
  const eraseSome = statement(text);
  return ({ person, write }) =>
    write(async (tx) => {
      const { length } = await eraseSome(tx, [person.account_id, person.phone, change_rows]);
      return {
        at: length < change_rows ? null : "more",
        counts: kind === null ? {} : { [kind]: length },
      };
    });
}
