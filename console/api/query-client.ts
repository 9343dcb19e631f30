import { QueryClient } from "@tanstack/react-query";
import { ApiProblem } from "./problem.ts";

/** The one cache of answers. What the server refused is not asked again; what did not arrive is, twice. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) =>
        failures < 2 &&
        (!(error instanceof ApiProblem) || error.status === 0 || error.status >= 500),
    },
    mutations: { retry: false },
  },
});
