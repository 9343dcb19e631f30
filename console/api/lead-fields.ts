// The picklists and custom fields of a workspace, with those that are archived, for who manages them.
import { queryOptions } from "@tanstack/react-query";
import type { Answer, Row, Sent } from "./answer.ts";
import { api, body } from "./client.ts";
import { queryClient } from "./query-client.ts";

export type Picklist = keyof Answer<"listPicklists">;
export type PicklistOption = Answer<"listPicklists">[Picklist][number];
export type CustomField = Row<"listCustomFields">;

const query = { includeArchived: true };

export const allOptionsQuery = (workspaceId: number) =>
  queryOptions({
    queryKey: ["picklists", workspaceId, "all"],
    queryFn: ({ signal }) =>
      body(
        api.GET("/api/v1/crm/workspaces/{workspaceId}/picklists", {
          params: { path: { workspaceId }, query },
          signal,
        }),
      ),
  });

export const allFieldsQuery = (workspaceId: number) =>
  queryOptions({
    queryKey: ["custom-fields", workspaceId, "all"],
    queryFn: async ({ signal }) =>
      (
        await body(
          api.GET("/api/v1/crm/workspaces/{workspaceId}/custom-fields", {
            params: { path: { workspaceId }, query },
            signal,
          }),
        )
      ).data,
  });

/** Where an option is, as the paths of the API name it. */
export type OptionPlace = { readonly workspaceId: number; readonly picklist: Picklist };

const refreshOptions = ({ workspaceId }: OptionPlace) =>
  queryClient.invalidateQueries({ queryKey: ["picklists", workspaceId] });

export async function addOption(
  place: OptionPlace,
  option: Sent<"createPicklistOption">,
): Promise<void> {
  await api.POST("/api/v1/crm/workspaces/{workspaceId}/picklists/{picklist}/options", {
    params: { path: place },
    body: option,
  });
  await refreshOptions(place);
}

export async function changeOption(
  place: OptionPlace,
  optionId: number,
  patch: Sent<"updatePicklistOption">,
): Promise<void> {
  await patchOption(place, optionId, patch);
  await refreshOptions(place);
}

const patchOption = (
  place: OptionPlace,
  optionId: number,
  patch: Sent<"updatePicklistOption">,
): Promise<unknown> =>
  api.PATCH("/api/v1/crm/workspaces/{workspaceId}/picklists/{picklist}/options/{optionId}", {
    params: { path: { ...place, optionId } },
    body: patch,
  });

export async function deleteOption(place: OptionPlace, optionId: number): Promise<void> {
  await api.DELETE("/api/v1/crm/workspaces/{workspaceId}/picklists/{picklist}/options/{optionId}", {
    params: { path: { ...place, optionId } },
  });
  await refreshOptions(place);
}

/**
 * Gives the options their places in this order and changes only those that have another one. It reads their places
 * first: a second order may be chosen before the page shows that the first is stored.
 */
export async function orderOptions(
  place: OptionPlace,
  options: readonly PicklistOption[],
): Promise<void> {
  const stored = await queryClient.query({
    ...allOptionsQuery(place.workspaceId),
    staleTime: 0,
  });
  for (const { id, position } of misplaced(options, stored[place.picklist]))
    await patchOption(place, id, { position });
  await refreshOptions(place);
}

const refreshFields = (workspaceId: number) =>
  queryClient.invalidateQueries({ queryKey: ["custom-fields", workspaceId] });

export async function addField(
  workspaceId: number,
  field: Sent<"createCustomField">,
): Promise<void> {
  await api.POST("/api/v1/crm/workspaces/{workspaceId}/custom-fields", {
    params: { path: { workspaceId } },
    body: field,
  });
  await refreshFields(workspaceId);
}

export async function changeField(
  workspaceId: number,
  fieldId: number,
  patch: Sent<"updateCustomField">,
): Promise<void> {
  await patchField(workspaceId, fieldId, patch);
  await refreshFields(workspaceId);
}

const patchField = (
  workspaceId: number,
  fieldId: number,
  patch: Sent<"updateCustomField">,
): Promise<unknown> =>
  api.PATCH("/api/v1/crm/workspaces/{workspaceId}/custom-fields/{fieldId}", {
    params: { path: { workspaceId, fieldId } },
    body: patch,
  });

export async function deleteField(workspaceId: number, fieldId: number): Promise<void> {
  await api.DELETE("/api/v1/crm/workspaces/{workspaceId}/custom-fields/{fieldId}", {
    params: { path: { workspaceId, fieldId } },
  });
  await refreshFields(workspaceId);
}

/** As orderOptions. */
export async function orderFields(
  workspaceId: number,
  fields: readonly CustomField[],
): Promise<void> {
  const stored = await queryClient.query({ ...allFieldsQuery(workspaceId), staleTime: 0 });
  for (const { id, position } of misplaced(fields, stored))
    await patchField(workspaceId, id, { position });
  await refreshFields(workspaceId);
}

type Placed = { readonly id: number; readonly position: number };

/** Returns the items with another place than their stored one, with their new place. */
function misplaced(ordered: readonly Placed[], stored: readonly Placed[]): readonly Placed[] {
  const places = new Map(stored.map(({ id, position }) => [id, position]));
  return ordered
    .map(({ id }, position) => ({ id, position }))
    .filter(({ id, position }) => places.get(id) !== position);
}
