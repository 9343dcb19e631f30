// The dry run and the sending of a draft: to a list, a file or a saved group.
import { api, body } from "../../../api/client.ts";
import { upload } from "../../../api/upload.ts";
import type { Draft } from "./draft.ts";
import type { Audience, Contact } from "./read-audience.ts";

/** A draft with everything that is sent. */
export type ReadyDraft = {
  readonly draft: Draft;
  /** The file that the server reads instead of `contacts`. */
  readonly file: File | null;
  readonly audience: Audience;
  readonly mapping: Readonly<Record<string, number>>;
  readonly contacts: readonly Contact[];
  /** Percent of the file that have arrived. */
  readonly onProgress: (percent: number) => void;
};

/** Returns what the campaign would do. */
export function previewDraft(ready: ReadyDraft) {
  const { draft, file, contacts, onProgress } = ready;
  if (draft.source === "group")
    return body(
      api.POST("/api/v1/chat/campaigns/group/preview", {
        body: { ...headOf(draft), group_id: Number(draft.group_id) },
      }),
    );
  if (file) return upload("/api/v1/chat/campaigns/csv/preview", partsOf(ready), { onProgress });
  return body(
    api.POST("/api/v1/chat/campaigns/preview", {
      body: { ...headOf(draft), contacts: [...contacts] },
    }),
  );
}

/** Sends it. A repetition, also after a reload or a lost answer, has the draft's key and returns the same campaign. */
export function sendDraft(ready: ReadyDraft) {
  const { draft, file, contacts, onProgress } = ready;
  const { key } = draft;
  const params = { header: { "idempotency-key": key } };
  if (draft.source === "group")
    return body(
      api.POST("/api/v1/chat/campaigns/group", {
        params,
        body: { ...headOf(draft), group_id: Number(draft.group_id) },
      }),
    );
  if (file) return upload("/api/v1/chat/campaigns/csv", partsOf(ready), { key, onProgress });
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

function partsOf({ draft, file, audience, mapping }: ReadyDraft) {
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
    file: file!,
  };
}
