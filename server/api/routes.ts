// Every route of the service, in one list: the table of contents.
import type { Route } from "./route.ts";
import { contactRoutes } from "./routes/contacts.ts";
import { leadExportRoutes } from "./routes/lead-exports.ts";
import { leadRecordRoutes } from "./routes/lead-records.ts";
import { leadRoutes } from "./routes/leads.ts";
import { systemRoutes } from "./routes/system.ts";

export const routes: readonly Route[] = [
  ...contactRoutes,
  ...leadExportRoutes,
  ...leadRecordRoutes,
  ...leadRoutes,
  ...systemRoutes,
];
