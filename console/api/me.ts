import { queryOptions } from "@tanstack/react-query";
import { send } from "./send.ts";

/** Who is signed in, with what the role allows; the answer of `GET /api/v1/me`. */
export type Me = {
  readonly user: { readonly id: number; readonly name: string; readonly email: string };
  readonly account: {
    readonly id: number;
    readonly name: string;
    readonly time_zone: string;
    readonly country_code: string;
    readonly features: readonly string[];
  };
  readonly permissions: readonly string[];
};

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => send<Me>("GET", "/api/v1/me", { signal }),
  staleTime: 60_000,
});
