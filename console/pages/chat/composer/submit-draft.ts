// The dry run and the sending of a draft: to a list, a file or a saved group.
import type { ReadyDraft } from "../../campaigns/use-campaign-draft.ts";
import { api, body } from "../../../api/client.ts";
import { upload } from "../../../api/upload.ts";
import type { Draft } from "./draft.ts";
import { refuseNationalNumbers } from "./refuse-national-numbers.ts";

export type ReadyChatDraft = ReadyDraft<Draft>;

/** Returns what the campaign would do. */
export async function previewDraft(ready: ReadyChatDraft) {
  const { draft, large, contacts, onProgress } = ready;
  if (draft.source === "group")
    return body(
      api.POST("/api/v1/chat/campaigns/group/preview", {
        body: { ...headOf(draft), group_id: Number(draft.group_id) },
      }),
    );
  if (large) {
    await refuseNationalNumbers(large, ready);
    return upload("/api/v1/chat/campaigns/csv/preview", partsOf(ready), { onProgress });
  }
  return body(
    api.POST("/api/v1/chat/campaigns/preview", {
      body: { ...headOf(draft), contacts: [...contacts] },
    }),
  );
}

/** Sends it, with the draft's key. */
export function sendDraft(ready: ReadyChatDraft) {
  const { draft, large, contacts, onProgress } = ready;
  const { key } = draft;
  const params = { header: { "idempotency-key": key } };
  if (draft.source === "group")
    return body(
      api.POST("/api/v1/chat/campaigns/group", {
        params,
        body: { ...headOf(draft), group_id: Number(draft.group_id) },
      }),
    );
  if (large) return upload("/api/v1/chat/campaigns/csv", partsOf(ready), { key, onProgress });
  return body(
    api.POST("/api/v1/chat/campaigns", {
      params,
      body: { ...headOf(draft), contacts: [...contacts] },
    }),
  );
}

/** What was not chosen is left out, so that the answer asks for it. */
function headOf({ name, chat_number_id, template_id, scheduled_at }: Draft) {
  return {
    name,
    chat_number_id: Number(chat_number_id),
    ...(template_id === "" ? {} : { template_id: Number(template_id) }),
    ...(scheduled_at === "" ? {} : { scheduled_at }),
  };
}

function partsOf({ draft, large, audience, mapping }: ReadyChatDraft) {
  const { name, chat_number_id, template_id, scheduled_at } = draft;
  const { columns, phone_column } = audience;
  const variables = Object.entries(mapping).map(([key, column]) => [key, columns[column]]);
  return {
    name,
    chat_number_id,
    template_id,
    scheduled_at,
    phone_column: columns[phone_column],
    variables: JSON.stringify(Object.fromEntries(variables)),
    file: large!.file,
  };
}
