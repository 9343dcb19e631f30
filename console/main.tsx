// The console's entry: providers around the router.
import "./styles.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/query-client.ts";
import { followSession } from "./shell/follow-session.ts";
import { reloadOnceAfterUpgrade } from "./shell/reload-after-upgrade.ts";
import { router } from "./routes.ts";

reloadOnceAfterUpgrade();
followSession();
createRoot(document.querySelector("#root")!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
