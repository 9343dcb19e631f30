import type { Fixture, Name } from "./fixture.ts";
import { requests, timeEach, type Timings } from "./timing.ts";

let made = 0;

/** Returns another national phone number at each call; the data has none of them. */
export function newPhone(): string {
  return `98${String(++made).padStart(8, "0")}`;
}

/** Measures writes over HTTP, one at a time. */
export async function measureWrites(
  fixture: Fixture,
  name: Name,
  samples: number,
): Promise<Timings> {
  const { workspace_id, contacts } = fixture.account(name);
  const send = requests(fixture, name);
  const group = await send("POST", "/groups", { name: `Depth ${newPhone()}` });
  const createLead = (phone: string) =>
    send("POST", `/crm/workspaces/${workspace_id}/leads/create`, { phone, name: "Asha" });
  return timeEach(
    {
      "write: lead": () => createLead(newPhone()),
      "write: lead of a known person": () =>
        createLead(String(6_000_000_001 + Math.floor(Math.random() * contacts))),
      "write: campaign of 100 messages": () => createCampaign(fixture, name, 100, true),
      "write: suppression": () =>
        send("POST", "/suppressions", {
          phone_number: newPhone(),
          channel: "all",
          reason: "asked",
        }),
      "write: 10 members of a group": () =>
        send("POST", `/groups/${group.id}/members`, {
          members: Array.from({ length: 10 }, () => ({ phone_number: newPhone() })),
        }),
    },
    samples,
  );
}

/** Creates a chat campaign, which starts in an hour or now; returns its ID. */
export async function createCampaign(
  fixture: Fixture,
  name: Name,
  recipients: number,
  isLater: boolean,
): Promise<number> {
  const { chat_number_id, template_id } = fixture.account(name);
  const { id } = await requests(fixture, name)(
    "POST",
    "/chat/campaigns",
    {
      name: "Depth",
      chat_number_id,
      template_id,
      contacts: Array.from({ length: recipients }, () => ({
        phone_number: `91${newPhone()}`,
        variables: { "1": "Asha" },
      })),
      ...(isLater ? { scheduled_at: new Date(Date.now() + 86_400_000).toISOString() } : {}),
    },
    { "idempotency-key": newPhone() },
  );
  return id;
}
