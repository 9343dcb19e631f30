import { chatDriverContract } from "../../../../test/support/chat-driver-contract.ts";
import { openSandboxDriver } from "./open-sandbox-driver.ts";

chatDriverContract("sandbox", async () => {
  const stored: string[] = [];
  const driver = openSandboxDriver({
    deliver: (webhook) => void stored.push(JSON.stringify(webhook)),
    delays: { sent_ms: 20, delivered_ms: 40, read_ms: 60, reply_ms: 80 },
  });
  return {
    driver,
    from: { phone_number_id: "sandbox-1", business_account_id: "sandbox-account" },
    webhooks: () => stored.map((body): unknown => JSON.parse(body)),
    close: () => driver.close(),
  };
});
