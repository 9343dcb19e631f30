import { chatDriverContract } from "../../../../test/support/chat-driver-contract.ts";
import { stub_number } from "../../../../test/support/provider-stub/settings.ts";
import { startProviderStub } from "../../../../test/support/provider-stub/start-provider-stub.ts";
import { startWebhookReceiver } from "../../../../test/support/provider-stub/webhook-receiver.ts";
import { openMetaDriver } from "./open-meta-driver.ts";

chatDriverContract("whatsapp", async () => {
  const receiver = await startWebhookReceiver();
  const stub = await startProviderStub({ callback_url: receiver.url });
  stub.setErrors([
    { kind: "fail_later", to: "777001", code: 131_026 },
    { kind: "throttle", to: "777002", times: 1 },
    { kind: "silent", to: "777003" },
    { kind: "reply", to: "777004", text: "STOP" },
    { kind: "reply", to: "777005", text: "yes" },
    { kind: "fail_later", to: "777006", code: 131_048 },
  ]);
  const driver = openMetaDriver({
    api_url: stub.api_url,
    access_token: stub.settings().access_token,
    app_secret: stub.settings().app_secret,
    verify_token: "verify",
  });
  return {
    driver,
    from: stub_number,
    webhooks: receiver.bodies,
    async close() {
      await driver.close();
      await stub.close();
      await receiver.close();
    },
  };
});
