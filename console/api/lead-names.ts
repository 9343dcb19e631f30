import { useQueries } from "@tanstack/react-query";
import type { Names } from "../messages/lead-history.ts";
import { agentsQuery, customFieldsQuery, picklistsQuery } from "./leads.ts";

/** Returns the names of each workspace's users, options and fields; those that are not there yet are unknown. */
export function useLeadNames(workspaces: readonly number[]): (workspace: number) => Names {
  const agents = useQueries({ queries: workspaces.map((id) => agentsQuery(id)) });
  const picklists = useQueries({ queries: workspaces.map((id) => picklistsQuery(id)) });
  const fields = useQueries({ queries: workspaces.map((id) => customFieldsQuery(id)) });
  return (workspace) => {
    const at = workspaces.indexOf(workspace);
    const options = Object.values(picklists[at]?.data ?? {}).flat();
    return {
      user: (user) => agents[at]?.data?.find(({ id }) => id === user)?.name,
      option: (option) => options.find(({ id }) => id === option)?.label,
      field: (key) => fields[at]?.data?.find((field) => field.key === key)?.label,
    };
  };
}
