import { queryOptions } from "@tanstack/react-query";
import { allRows } from "./all-rows.ts";
import type { Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { keyed } from "./keyed.ts";
import { reloadMe } from "./me.ts";
import { queryClient } from "./query-client.ts";

export type PhoneNumber = Row<"listPhoneNumbers">;
export type AgentNumber = Row<"listAgentNumbers">;
export type VoiceNode = Row<"listVoiceNodes">;
export type Trunk = Row<"listTrunks">;
export type NumberAssignment = Row<"listNumberAssignments">;

const refresh = () => queryClient.invalidateQueries({ queryKey: ["telephony"] });

/** Also reads what places the account's calls: the sandbox alone, or a switch that rings phones. */
const refreshSwitches = () => Promise.all([refresh(), reloadMe()]);

export const phoneNumbersQuery = queryOptions({
  queryKey: ["telephony", "phone-numbers"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/phone-numbers", { params: { query }, signal }))),
});

/** Sends a number's incoming calls to a menu, to a group of agents, or nowhere. */
export async function routeNumber(number: string, target: Sent<"routePhoneNumber">): Promise<void> {
  await api.PATCH("/api/v1/phone-numbers/{number}", {
    params: { path: { number } },
    body: target,
  });
  await refresh();
}

export const agentNumbersQuery = queryOptions({
  queryKey: ["telephony", "agent-numbers"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/agent-numbers", { params: { query }, signal }))),
});

export async function addAgentNumber(json: Sent<"addAgentNumber">, key: string): Promise<void> {
  await api.POST("/api/v1/agent-numbers", { params: keyed(key), body: json });
  await refresh();
}

export async function removeAgentNumber(number: string): Promise<void> {
  await api.DELETE("/api/v1/agent-numbers/{number}", { params: { path: { number } } });
  await refresh();
}

/** Of the whole installation. No event reports their state, so it is read again. */
export const voiceNodesQuery = queryOptions({
  queryKey: ["telephony", "nodes"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/voice-nodes", { params: { query }, signal }))),
  refetchInterval: 5_000,
});

export async function createNode(json: Sent<"createVoiceNode">, key: string): Promise<void> {
  await api.POST("/api/v1/voice-nodes", { params: keyed(key), body: json });
  await refreshSwitches();
}

export async function updateNode(id: number, json: Sent<"updateVoiceNode">): Promise<void> {
  await api.PATCH("/api/v1/voice-nodes/{id}", { params: { path: { id } }, body: json });
  await refreshSwitches();
}

export async function deleteNode(id: number): Promise<void> {
  await api.DELETE("/api/v1/voice-nodes/{id}", { params: { path: { id } } });
  await refreshSwitches();
}

export const trunksQuery = queryOptions({
  queryKey: ["telephony", "trunks"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/trunks", { params: { query }, signal }))),
});

/** A whole trunk: what creates one and what changes one. */
export type TrunkBody = Required<Sent<"updateTrunk">>;

/** Creates a trunk, which needs all of it, or changes one. */
export async function saveTrunk(
  id: number | null,
  json: Partial<TrunkBody>,
  key: string,
): Promise<void> {
  await (id === null
    ? api.POST("/api/v1/trunks", { params: keyed(key), body: json as TrunkBody })
    : api.PATCH("/api/v1/trunks/{id}", { params: { path: { id }, ...keyed(key) }, body: json }));
  await refreshSwitches();
}

export async function deleteTrunk(id: number): Promise<void> {
  await api.DELETE("/api/v1/trunks/{id}", { params: { path: { id } } });
  await refreshSwitches();
}

export const numberAssignmentsQuery = queryOptions({
  queryKey: ["telephony", "assignments"],
  queryFn: ({ signal }) =>
    allRows((query) => body(api.GET("/api/v1/number-assignments", { params: { query }, signal }))),
});

export async function assignNumber(json: Sent<"assignPhoneNumber">, key: string): Promise<void> {
  await api.POST("/api/v1/number-assignments", { params: keyed(key), body: json });
  await refresh();
}

export async function unassignNumber(number: string): Promise<void> {
  await api.DELETE("/api/v1/number-assignments/{number}", { params: { path: { number } } });
  await refresh();
}
