// What a role does not allow is neither shown nor reachable, and no other account or site gets in.
import { readFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import type { Page } from "@playwright/test";
import {
  createCampaign,
  createLead,
  expect,
  follow,
  launchCalls,
  signInByLink,
  test,
  type Service,
} from "./console-fixture.ts";

const sourceOf = (file: string) =>
  readFileSync(new URL(`../../console/${file}`, import.meta.url), "utf8");

/** Reads `"a"` or `["a", "b"]`, of which one is enough. */
const namesIn = (source: string) => [...source.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);

/** The permissions, written out or by the name of a constant. */
function permissionsIn(source: string): readonly string[] {
  if (!/^\w/.test(source)) return namesIn(source);
  const constant = new RegExp(`const ${source} = (\\[[^\\]]+\\])`);
  return namesIn(constant.exec(sourceOf("routes.ts") + sourceOf("shell/navigation.ts"))![1]!);
}

/** Every page with a permission, read from the list of routes. */
const routes = [
  ...sourceOf("routes.ts").matchAll(
    /path: "([^"]+)",\s+staticData: \{\s*title: "([^"]+)",\s+permission: ("[^"]+"|\[[^\]]+\]|\w+)/g,
  ),
].map(([, path, title, needed]) => ({
  path: path!.replaceAll(/\$\w+/g, "1"),
  title: title!,
  permissions: permissionsIn(needed!),
}));

/** The title of every page, by the form of its path. */
const titles = [
  ...sourceOf("routes.ts").matchAll(/path: "([^"]+)",\s+staticData: \{\s*title: "([^"]+)"/g),
].map(([, path, title]) => ({
  form: new RegExp(`^${path!.replaceAll(/\$\w+/g, "[^/]+")}$`),
  title: title!,
}));

type Control = {
  /** One of them is enough. */
  readonly permissions: readonly string[];
  /** `{lead}` is a lead of the test. */
  readonly path: string;
  readonly role: "link" | "button";
  readonly name: string;
};

/** The links of the navigation, and the main button that each permission adds to a page. */
const controls: readonly Control[] = [
  ...[
    ...sourceOf("shell/navigation.ts").matchAll(
      /label: "([^"]+)",\s+icon: \w+,\s+permission: ("[^"]+"|\[[^\]]+\]|\w+)/g,
    ),
  ].map(([, name, needed]) => ({
    permissions: permissionsIn(needed!),
    path: "/settings/profile",
    role: "link" as const,
    name: name!,
  })),
  {
    permissions: ["chat.campaigns.create"],
    path: "/chat/campaigns",
    role: "link",
    name: "New campaign",
  },
  {
    permissions: ["voice.campaigns.create"],
    path: "/voice/campaigns",
    role: "link",
    name: "New voice campaign",
  },
  {
    permissions: ["voice.content.manage"],
    path: "/voice/files",
    role: "link",
    name: "New content",
  },
  { permissions: ["voice.content.manage"], path: "/voice/menus", role: "link", name: "New menu" },
  {
    permissions: ["callbacks.manage"],
    path: "/developers/callbacks",
    role: "button",
    name: "New endpoint",
  },
  { permissions: ["reports.export"], path: "/reports", role: "link", name: "Export" },
  { permissions: ["agents.manage"], path: "/agents", role: "button", name: "New group" },
  {
    permissions: ["installation.manage"],
    path: "/installation",
    role: "button",
    name: "Add a trunk",
  },
  {
    permissions: ["agents.manage"],
    path: "/telephony",
    role: "button",
    name: "Add a phone",
  },
  {
    permissions: ["installation.manage"],
    path: "/chat/numbers",
    role: "button",
    name: "Add a WhatsApp number",
  },
  {
    permissions: ["chat.manage"],
    path: "/chat/numbers",
    role: "button",
    name: "Add a sandbox number",
  },
  {
    permissions: ["chat.manage"],
    path: "/chat/flows",
    role: "button",
    name: "New chat flow",
  },
  { permissions: ["chat.export"], path: "/chat/replies", role: "link", name: "Export" },
  {
    permissions: ["suppressions.read", "suppressions.manage"],
    path: "/suppressions",
    role: "link",
    name: "Export",
  },
  {
    permissions: ["crm.write"],
    path: "/contacts?q=Carla",
    role: "button",
    name: "Change Carla Contact",
  },
  { permissions: ["calls.export"], path: "/calls", role: "link", name: "Export" },
  { permissions: ["crm.import"], path: "/leads", role: "link", name: "Import" },
  { permissions: ["crm.export"], path: "/leads", role: "link", name: "Export" },
  { permissions: ["crm.leads.create"], path: "/leads", role: "button", name: "New lead" },
  { permissions: ["crm.write"], path: "/leads/{lead}", role: "button", name: "Add note" },
  { permissions: ["groups.manage"], path: "/groups", role: "button", name: "New group" },
  { permissions: ["chat.manage"], path: "/chat/templates", role: "link", name: "New template" },
  {
    permissions: ["people.erase"],
    path: "/people/+919876543210",
    role: "button",
    name: "Erase",
  },
  { permissions: ["users.manage"], path: "/settings/users", role: "button", name: "Invite" },
  {
    permissions: ["suppressions.manage"],
    path: "/people/+919876543210",
    role: "button",
    name: "Suppress",
  },
];

/** The parts of answers that these tests read. */
type Answer = {
  readonly id: number;
  readonly account: { readonly id: number };
  readonly data: readonly { readonly name: string; readonly call_id: number }[];
};

const call = async (
  { url }: Service,
  token: string,
  path: string,
  json?: object,
): Promise<Answer> => {
  const answer = await fetch(`${url}/api/v1/${path}`, {
    method: json === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
};

/** Signs the browser in as a new user with these permissions; returns the ID of the role. */
async function signInWith(page: Page, service: Service, permissions: readonly string[]) {
  const token = service.demo.tokens["account"]!;
  const name = `Role ${crypto.randomUUID()}`;
  const role = await call(service, token, "roles", { name, permissions });
  const email = `${crypto.randomUUID()}@test.example`;
  const user = await call(service, token, "users", { name: "Ravi", email, role_id: role.id });
  await signInByLink(page, service, token, user.id);
  return role.id;
}

/** Goes to a page as a link does; resolves when its title is there. */
async function goOn(page: Page, path: string) {
  await follow(page, path);
  const [address] = path.split("?");
  const { title } = titles.find(({ form }) => form.test(address!))!;
  await expect(page).toHaveTitle(`${title} · Trunkline`);
}

test("without a permission its pages refuse by name, and its links and buttons are not shown", async ({
  page,
  service,
  settled,
}) => {
  const { data } = await call(service, service.demo.tokens["account"]!, "permissions");
  const all = data.map(({ name }) => name);
  const lead = await createLead(service, { phone: "9876543210", name: "Ada Lovelace" });
  /** Loads the console at the page of the first control as whoever is signed in, and goes on to the others. */
  const visit = async (list: readonly Control[], check: (control: Control) => Promise<void>) => {
    let isLoaded = false;
    for (const [form, shown] of Map.groupBy(list, (control) => control.path)) {
      const path = form.replace("{lead}", String(lead));
      if (!isLoaded) await page.goto(service.url + path);
      isLoaded = true;
      await goOn(page, path);
      await settled();
      for (const control of shown) await check(control);
    }
  };
  expect(routes.length).toBe(sourceOf("routes.ts").match(/, permission: /g)!.length);
  expect(controls.length).toBeGreaterThan(7);
  await signInWith(page, service, []);
  await page.goto(`${service.url}/settings/profile`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  // The first page leads on to one that the role covers.
  for (const { path, permissions } of routes.filter((one) => one.path !== "/")) {
    await goOn(page, path);
    await expect(page.getByRole("heading", { name: "You may not see this page" })).toBeVisible();
    await expect(page.getByText(/^It needs the permission/)).toContainText(
      permissions.join(" or "),
    );
  }
  await signInWith(page, service, all);
  await visit(controls, ({ role, name }) =>
    expect(page.getByRole(role, { name, exact: true }).first()).toBeVisible(),
  );
  for (const group of Map.groupBy(controls, ({ permissions }) => permissions.join()).values()) {
    const { permissions } = group[0]!;
    await signInWith(
      page,
      service,
      all.filter((one) => !permissions.includes(one)),
    );
    await visit(group, ({ role, name }) =>
      expect(page.getByRole(role, { name, exact: true })).toHaveCount(0),
    );
  }
});

test("whoever may manage users, groups and suppressions has their pages and choices without the permission to read", async ({
  page,
  problems,
  service,
}) => {
  await signInWith(page, service, [
    "users.manage",
    "groups.manage",
    "suppressions.manage",
    "tokens.manage",
    "chat.campaigns.create",
  ]);
  for (const [path, name, control] of [
    ["/groups", "Groups", page.getByRole("button", { name: "New group" })],
    ["/suppressions", "Suppressions", page.getByRole("link", { name: "Export" })],
    ["/settings/users", "Users", page.getByRole("button", { name: "Invite" })],
  ] as const) {
    await page.goto(service.url + path);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
    await expect(page.getByRole("link", { name, exact: true })).toBeVisible();
    await expect(control).toBeVisible();
  }
  await page.goto(`${service.url}/developers/tokens`);
  await page.getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("option", { name: "Ravi" }).first()).toBeAttached();
  await page.goto(`${service.url}/chat/campaigns/new`);
  await expect(page.getByRole("radio", { name: "Saved group" })).toBeVisible();
  expect(problems).toEqual([]);
});

test("a campaign that one may create but not see is reported by its ID once it is sent, and the next draft is another one", async ({
  page,
  problems,
  service,
}) => {
  const sent: number[] = [];
  page.on("response", async (response) => {
    if (response.status() !== 201 || response.request().method() !== "POST") return;
    const { id, campaignId } = (await response.json()) as { id: number; campaignId?: number };
    sent.push(campaignId ?? id);
  });
  const check = page.getByRole("button", { name: "Check with a dry run" });
  /** Expects the report of the campaign that was sent, and an empty composer, also after a reload. */
  const expectReport = async (count: number, heading: string, words: string) => {
    await expect.poll(() => sent.length).toBe(count);
    const report = page.getByRole("dialog").filter({ hasText: words });
    await expect(report).toContainText(`It is campaign ${sent.at(-1)}.`);
    await expect(page.getByRole("heading", { name: heading, level: 1 })).toBeFocused();
    await expect(page.getByLabel("Campaign name")).toHaveValue("");
    await page.reload();
    await expect(page.getByLabel("Campaign name")).toHaveValue("");
  };
  await signInWith(page, service, ["chat.campaigns.create"]);
  await page.goto(`${service.url}/chat/campaigns/new`);
  await page.getByLabel("Campaign name").fill("Unseen messages");
  await page.getByLabel("Template").selectOption({ index: 1 });
  await page.getByLabel("Numbers").fill("919876500241,Ada");
  await check.click();
  await page.getByRole("button", { name: "Send to 1", exact: true }).click();
  await expectReport(1, "New chat campaign", "“Unseen messages” is on its way");
  await signInWith(page, service, ["voice.campaigns.create", "voice.content.read"]);
  await page.goto(`${service.url}/voice/campaigns/new`);
  await page.getByLabel("Content").selectOption("Demo message");
  await page.getByLabel("Your phone").fill("9876500242");
  await page.getByRole("button", { name: "Call my phone" }).click();
  await expect(page.getByText("The call is placed within 10 minutes, or cancelled.")).toBeVisible();
  await expect(page.getByRole("link", { name: "Look at it" })).toHaveCount(0);
  await page.getByLabel("Campaign name").fill("Unseen calls");
  await page.getByLabel("Numbers").fill("9876500243");
  await page.getByLabel("Begin").fill(`${new Date().getUTCFullYear() + 1}-03-01T09:30`);
  await check.click();
  await page.getByRole("button", { name: "Call 1 person", exact: true }).click();
  await expectReport(3, "New voice campaign", "“Unseen calls” is scheduled");
  expect(problems).toEqual([]);
});

test("an open tab follows a change of the role at the next page, or when it is shown again, after a minute", async ({
  page,
  service,
}) => {
  await page.clock.install();
  const role = await signInWith(page, service, ["crm.read"]);
  const allow = (permissions: readonly string[]) =>
    fetch(`${service.url}/api/v1/roles/${role}`, {
      method: "PATCH",
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ permissions }),
    });
  const link = (name: string) => page.getByRole("link", { name, exact: true });
  await page.goto(`${service.url}/leads`);
  await expect(link("Contacts")).toBeVisible();
  await expect(link("Groups")).toHaveCount(0);
  await allow(["crm.read", "groups.read"]);
  await page.clock.fastForward(61_000);
  await goOn(page, "/contacts");
  await expect(link("Groups")).toBeVisible();
  await allow(["crm.read", "suppressions.read"]);
  await page.clock.fastForward(61_000);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect(link("Suppressions")).toBeVisible();
  await expect(link("Groups")).toHaveCount(0);
});

test("a campaign's call is on the lead's timeline without calls.read, and once with it", async ({
  page,
  problems,
  service,
  settled,
}) => {
  const lead = await createLead(service, { phone: "9876500223", name: "Frances Allen" });
  await launchCalls(service, {
    campaign_name: "Spring calls",
    call_type: "obd_voice_call",
    number: "9876500223",
    crm_workspace_id: "1",
  });
  const path = `${service.url}/leads/${lead}?workspace=1`;
  const calls = page
    .getByRole("list", { name: "Timeline" })
    .getByRole("listitem")
    .filter({ hasText: /^Call/ });
  await signInWith(page, service, ["crm.read"]);
  await expect(async () => {
    await page.goto(path);
    await expect(calls).toContainText("Call in the campaign Spring calls", { timeout: 3_000 });
  }).toPass();
  await expect(calls).toHaveCount(1);
  await signInWith(page, service, ["crm.read", "calls.read"]);
  await page.goto(path);
  await expect(calls.getByRole("link", { name: /^Call: completed/ })).toBeVisible();
  await settled();
  await expect(calls).toHaveCount(1);
  expect(problems).toEqual([]);
});

test("a link to a page that the role does not cover is plain text, or not shown if it looks like a button", async ({
  page,
  problems,
  service,
}) => {
  const token = service.demo.tokens["account"]!;
  const campaign = await createCampaign(service, "Linked messages", ["919876500271"]);
  const voice_campaign = await launchCalls(service, {
    campaign_name: "Linked calls",
    call_type: "obd_voice_call",
    number: "9876500272",
  });
  const made = () => call(service, token, `calls?campaign_id=${voice_campaign}`);
  await expect.poll(async () => (await made()).data.length).toBe(1);
  const [{ call_id }] = (await made()).data as [Answer["data"][number]];
  const { data: workspaces } = await call(service, token, "crm/workspaces");
  for (const { path, shows, leads_to, text, to } of [
    {
      path: `/calls/${call_id}`,
      shows: ["calls.read"],
      leads_to: "voice.campaigns.read",
      text: "The campaign Linked calls",
      to: `/voice/campaigns/${voice_campaign}`,
    },
    {
      path: `/voice/campaigns/${voice_campaign}`,
      shows: ["voice.campaigns.read"],
      leads_to: "calls.read",
      text: "+919876500272",
      to: `/calls/${call_id}`,
    },
    {
      path: "/settings/credits",
      shows: ["credits.read"],
      leads_to: "chat.read",
      text: `Chat campaign ${campaign}`,
      to: `/chat/campaigns/${campaign}`,
    },
    {
      path: "/settings/workspaces",
      shows: ["crm.manage"],
      leads_to: "crm.read",
      text: workspaces[0]!.name,
      to: "/leads?workspace=1",
    },
    {
      path: "/",
      shows: ["chat.campaigns.manage"],
      leads_to: "chat.read",
      text: "Replies today",
      to: "/chat/replies",
    },
    {
      path: "/leads/import",
      shows: ["crm.import", "crm.leads.create"],
      leads_to: "crm.read",
      text: `Into the workspace ${workspaces[0]!.name}`,
      to: "/leads?workspace=1",
    },
  ]) {
    const links = page.getByRole("main").locator(`a[href="${to}"]`);
    await signInWith(page, service, [...shows, leads_to]);
    await page.goto(service.url + path);
    await expect(links.first(), path).toBeVisible();
    await signInWith(page, service, shows);
    await page.goto(service.url + path);
    await expect(page.getByText(text, { exact: true }).first(), path).toBeVisible();
    await expect(links, path).toHaveCount(0);
  }
  expect(problems).toEqual([]);
});

test("a second account sees nothing of the first", async ({ openPage, page, service, settled }) => {
  const lead = await createLead(service, { phone: "9876500221", name: "Valerie Thomas" });
  const campaign = await createCampaign(service, "Private", ["919876500221"]);
  const calls = await launchCalls(service, {
    campaign_name: "Private calls",
    call_type: "obd_voice_call",
    number: "9876500221",
  });
  const token = service.demo.tokens["other_account"]!;
  await openPage("/leads");
  await expect(page.getByRole("link", { name: "Valerie Thomas" })).toBeVisible();
  await signInByLink(page, service, token);
  await page.goto(`${service.url}/settings/profile`);
  for (const path of [
    "/leads",
    `/leads/${lead}`,
    "/people/+919876500221",
    "/chat/campaigns",
    `/chat/campaigns/${campaign}`,
    "/voice/campaigns",
    `/voice/campaigns/${calls}`,
    "/voice/files",
    "/voice/files/1",
    "/voice/menus",
    "/voice/menus/1",
    "/calls",
    "/calls/1",
    "/contacts",
    "/agents",
    "/telephony",
    "/installation",
    "/chat/numbers",
    "/settings/users",
    "/settings/workspaces",
  ]) {
    await goOn(page, path);
    await settled();
    await expect(page.getByText(/Valerie Thomas|Private|Olivia Owner|Demo m/)).toHaveCount(0);
  }
});

test("what needs a feature that the account does not have is neither shown nor requested", async ({
  page,
  service,
  settled,
}) => {
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(response.url());
  });
  await signInByLink(page, service, service.demo.tokens["other_account"]!);
  await page.goto(service.url);
  const links = page.getByRole("navigation", { name: "Main" }).getByRole("link");
  await expect(links).toHaveText([
    "Overview",
    "Leads",
    "Contacts",
    "Groups",
    "Suppressions",
    "API tokens",
    "Callbacks",
    "Events",
    "Account",
    "Lead fields",
    "Workspaces",
    "Users",
    "Credits",
    "Audit trail",
    "Erasures",
  ]);
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  await expect(page.getByText(/Credit for messages|This is a sandbox/)).toHaveCount(0);
  await settled();
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")!));
  for (const path of [...paths, "/people/+919876500151"]) {
    await goOn(page, path);
    await settled();
    await expect(page.getByRole("link", { name: /^(New campaign|Message)$/ })).toHaveCount(0);
  }
  await expect(page.getByRole("button", { name: "Suppress", exact: true })).toBeVisible();
  await goOn(page, "/voice/campaigns");
  await expect(page.getByText(/^It needs the feature/)).toContainText(
    "the feature voice, which this account does not have",
  );
  // Of an account with messages, without the installation.
  await signInByLink(page, service, service.demo.tokens["low_credit"]!);
  await page.goto(`${service.url}/chat/numbers`);
  await expect(page.getByRole("button", { name: "Add a sandbox number" })).toBeVisible();
  await settled();
  await expect(page.getByRole("button", { name: "Add a WhatsApp number" })).toHaveCount(0);
  expect(refused).toEqual([]);
});

test("an account without menus sends the calls of its numbers to its agents", async ({
  page,
  problems,
  service,
}) => {
  const token = service.demo.tokens["night_restricted"]!;
  const { account } = await call(service, token, "me");
  await call(service, token, "agent-groups", { name: "Day shift" });
  await call(service, service.demo.tokens["account"]!, "number-assignments", {
    number: "+919000000079",
    account_id: account.id,
  });
  await signInByLink(page, service, token);
  await page.goto(`${service.url}/telephony`);
  const row = page.getByRole("row", { name: /919000000079/ });
  await row.getByRole("button", { name: "Change +919000000079" }).click();
  await page.getByLabel("Incoming calls go to").selectOption("Agents: Day shift");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("Agents: Day shift");
  expect(problems).toEqual([]);
});

test("a page of another origin writes nothing with the session", async ({
  openPage,
  page,
  service,
}) => {
  await openPage("/settings/users");
  const send = (email: string) =>
    page.evaluate(
      async ([url, address]) => {
        // Without a Content-Type, so that no preflight asks first.
        const body = new Blob([JSON.stringify({ email: address })]);
        const write = { method: "POST", mode: "no-cors", credentials: "include", body } as const;
        // The page may not read the answer.
        await fetch(`${url}/api/v1/invitations`, write).catch(() => null);
      },
      [service.url, email] as const,
    );
  await send("own@test.example");
  const form = `<form method="post" enctype="text/plain" action="${service.url}/api/v1/invitations">
    <input name='{"email": "hostile@test.example", "x": "' value='"}'><button>Win</button></form>`;
  const html = `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n${form}`;
  const server = createServer((socket) => socket.end(html)).listen(0, "127.0.0.1");
  await once(server, "listening");
  // Of the same site, whose pages send our cookie: only a port differs.
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
  await send("hostile@test.example");
  const answered = page.waitForResponse(/invitations$/);
  await page.getByRole("button", { name: "Win" }).click();
  expect((await answered).status()).toBe(403);
  server.close();
  await page.goto(`${service.url}/settings/users`);
  const invitations = page.getByRole("list", { name: "Open invitations" });
  await expect(invitations).toContainText("own@test.example");
  await expect(invitations).not.toContainText("hostile@test.example");
});

test("guesses at a password are throttled, and the page says for how long", async ({
  page,
  service,
}) => {
  await page.goto(`${service.url}/sign-in`);
  await page.evaluate(async () => {
    const body = JSON.stringify({ email: "guessed@test.example", password: "guess" });
    const headers = { "content-type": "application/json" };
    for (let n = 0; n < 10; n++) await fetch("/api/v1/session", { method: "POST", headers, body });
  });
  await page.getByLabel("Email").fill("guessed@test.example");
  await page.getByLabel("Password").fill("another guess");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("Too many failed sign-ins; try again in");
});
