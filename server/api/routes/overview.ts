import { overview_permissions, readOverview } from "../../reports/read-overview.ts";
import { Overview } from "../../reports/overview-schema.ts";
import { route } from "../route.ts";

export const overviewRoutes = [
  route({
    method: "GET",
    url: "/api/v1/overview",
    id: "readOverview",
    from_replica: true,
    summary: "Read today's messages and calls, the credit, and what waits for a person",
    description:
      "Today begins at midnight in the account's time zone. Messages are those of campaigns, counted by minute; " +
      "calls and replies are counted to a limit, and of what waits for a person the newest twenty of a kind are " +
      "listed, so that the cost does not grow with what the account has.",
    tag: "Reports",
    access: { anyOf: overview_permissions },
    success: { 200: Overview },
    handle: ({ app, caller }) => readOverview(app, caller),
  }),
];
