// Every route of the service, in one list: the table of contents.
import type { Route } from "./route.ts";
import { leadRoutes } from "./routes/leads.ts";
import { systemRoutes } from "./routes/system.ts";

export const routes: readonly Route[] = [...leadRoutes, ...systemRoutes];
