import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Answer, Row, Sent } from "./answer.ts";
import type { MenuGraph } from "../../server/voice/menus/menu-schema.ts";
import { api, body } from "./client.ts";
import { pageWithRows } from "./page-with-rows.ts";

export type VoiceCampaign = Answer<"readVoiceCampaign">;
export type VoiceStatus = VoiceCampaign["status"];
export type CallType = VoiceCampaign["call_type"];
export type VoiceRecipient = Row<"listVoiceRecipients">;
export type VoiceState = VoiceRecipient["state"];
export type VoiceFailure = Row<"readVoiceCampaignFailures">;
export type RetriedReason = NonNullable<Sent<"retryVoiceCampaign">["reasons"]>[number];

export type VoiceCampaignFilter = { readonly status?: VoiceStatus; readonly type?: CallType };

export const voiceCampaignsQuery = ({ status, type: call_type }: VoiceCampaignFilter) =>
  infiniteQueryOptions({
    queryKey: ["voice-campaigns", "list", { status, call_type }],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/voice/campaigns", {
            params: { query: { limit: 50, status, call_type, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

const refresh_ms = 5_000;

/** The path of the campaign's operations takes either of its IDs. */
const pathOf = (id: number) => ({ id: String(id) });

export const voiceCampaignQuery = (id: number) =>
  queryOptions({
    queryKey: ["voice-campaigns", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/voice/campaigns/{id}", { params: { path: pathOf(id) }, signal })),
    // What it waits for changes without an event. Events begin the interval again; their page reads it after them, too.
    refetchInterval: ({ state }) => (state.data?.finished_at === null ? refresh_ms : false),
  });

export type VoiceRecipientFilter = {
  readonly state?: VoiceState;
  readonly reason?: string;
  readonly number?: string;
};

export const voiceRecipientsQuery = (id: number, filter: VoiceRecipientFilter) =>
  infiniteQueryOptions({
    queryKey: ["voice-recipients", id, filter],
    queryFn: ({ pageParam, signal }) =>
      pageWithRows(pageParam, (cursor) =>
        body(
          api.GET("/api/v1/voice/campaigns/{id}/recipients", {
            params: { path: pathOf(id), query: { limit: 100, ...filter, cursor } },
            signal,
          }),
        ),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });

/** Why recipients were not reached; `is_more` if there may be more than were counted. */
export const voiceFailuresQuery = (id: number) =>
  queryOptions({
    queryKey: ["voice-recipients", id, "failures"],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/voice/campaigns/{id}/failures", {
            params: { path: pathOf(id) },
            signal,
          }),
        )
      ).data,
  });

/** The calls that were placed in each of the last `minutes`; minutes without calls are missing. */
export const voicePaceQuery = (id: number, minutes: number) =>
  queryOptions({
    queryKey: ["voice-recipients", id, "pace", minutes],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/voice/campaigns/{id}/pace", {
            params: { path: pathOf(id), query: { minutes } },
            signal,
          }),
        )
      ).data,
  });

export const voiceKeysQuery = (id: number) =>
  queryOptions({
    // Not under the recipients, which are read again at each change: the service counts all calls of the campaign.
    queryKey: ["voice-keys", id],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/voice/campaigns/{id}/keys", { params: { path: pathOf(id) }, signal }),
        )
      ).data,
  });

/** The ten newest campaigns with a voice file. */
export const campaignsOfFileQuery = (voice_file_id: number) =>
  queryOptions({
    queryKey: ["voice-campaigns", "of file", voice_file_id],
    queryFn: async ({ signal }) => {
      const { data } = await pageWithRows(undefined, (cursor) =>
        body(
          api.GET("/api/v1/voice/campaigns", {
            params: { query: { voice_file_id, limit: 10, cursor } },
            signal,
          }),
        ),
      );
      return data;
    },
  });

export type VoiceFile = Row<"listVoiceFiles">;

export const voiceFilesQuery = queryOptions({
  queryKey: ["voice-files"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/voice/files", { params: { query }, signal }))),
});

const processing_ms = 1_000;

export const voiceFileQuery = (id: number) =>
  queryOptions({
    queryKey: ["voice-files", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/voice/files/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.status === "processing" ? processing_ms : false),
  });

/** A menu, whose document does not describe the kinds of its nodes. */
export type Menu = Omit<Answer<"readVoiceMenu">, "nodes"> & Pick<MenuGraph, "nodes">;

export const menusQuery = queryOptions({
  queryKey: ["voice-menus"],
  queryFn: async ({ signal }) =>
    (await allRows((query) =>
      body(api.GET("/api/v1/voice/menus", { params: { query }, signal })),
    )) as unknown as readonly Menu[],
});

export type AiAgent = Row<"listAiAgents">;

export const aiAgentQuery = (id: number) =>
  queryOptions({
    queryKey: ["ai-agents", id],
    queryFn: ({ signal }) =>
      body(api.GET("/api/v1/voice/agents/{id}", { params: { path: { id } }, signal })),
  });

export const aiAgentsQuery = queryOptions({
  queryKey: ["ai-agents"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/voice/agents", { params: { query }, signal }))),
});

/** Returns the URL of the audio of a text with a recipient's values; revoke it. */
export async function synthesize(preview: Sent<"previewSpeech">): Promise<string> {
  const { data } = await api.POST("/api/v1/voice/speech/preview", {
    body: preview,
    parseAs: "blob",
  });
  return URL.createObjectURL(data as unknown as Blob);
}

export const menuQuery = (id: number) =>
  queryOptions({
    queryKey: ["voice-menus", id],
    queryFn: async ({ signal }) =>
      (await body(
        api.GET("/api/v1/voice/menus/{id}", { params: { path: { id } }, signal }),
      )) as unknown as Menu,
  });
