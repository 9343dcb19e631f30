// Starts the service as a newcomer does, with the demo in an empty folder, and watches what every page reports.
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test as base, type Browser, type Page, type Request } from "@playwright/test";
import { freePort } from "../support/free-port.ts";
import { startOidcStub, type OidcStub } from "../support/oidc-stub.ts";
import { serviceProgram } from "../support/service-program.ts";

export { expect };

const root = join(import.meta.dirname, "../..");

export type Service = {
  /** The identity provider at which people may sign in. */
  readonly provider: OidcStub;
  readonly url: string;
  readonly data_dir: string;
  /** Ends the process and starts another one with the same data; resolves when it answers. */
  readonly restart: () => Promise<void>;
  readonly demo: {
    readonly console: { readonly email: string; readonly password: string };
    readonly tokens: Readonly<Record<string, string>>;
  };
};

type Fixtures = {
  /** Errors of the page: uncaught, logged, or a violation of the Content-Security-Policy. */
  readonly problems: string[];
  /** Signs in as the owner of the demo's account and opens a page. */
  readonly openPage: (path: string) => Promise<void>;
  /** Resolves once all requests of the page but its event stream are answered, and what came of them is painted. */
  readonly settled: () => Promise<void>;
};

export const test = base.extend<Fixtures, { service: Service }>({
  service: [
    // oxlint-disable-next-line no-empty-pattern -- Playwright requires this form of a fixture without dependencies.
    async ({}, use) => {
      const data_dir = await mkdtemp(join(tmpdir(), "trunkline-browser-"));
      const port = await freePort();
      // A name, because browsers bind passkeys to no IP address.
      const url = `http://localhost:${port}`;
      const provider = await startOidcStub();
      const { issuer, client_id, client_secret, label } = provider.settings;
      const oidc = {
        OIDC_ISSUER: issuer,
        OIDC_CLIENT_ID: client_id,
        OIDC_CLIENT_SECRET: client_secret,
        OIDC_LABEL: label,
      };
      const start = () =>
        spawn(process.execPath, [serviceProgram(root)], {
          cwd: root,
          env: {
            ...process.env,
            DATA_DIR: data_dir,
            PORT: String(port),
            PUBLIC_URL: url,
            LOG_LEVEL: "error",
            CALLBACK_ALLOW: "127.0.0.1",
            SPEECH_RECOGNIZE_COMMAND: `${process.execPath} test/support/speech-command.ts names-tones`,
            ...oidc,
          },
          stdio: ["ignore", "ignore", "inherit"],
        });
      let server = start();
      const stop = async () => {
        server.kill("SIGTERM");
        await once(server, "exit");
      };
      await isReady(url);
      await use({
        provider,
        url,
        data_dir,
        async restart() {
          await stop();
          server = start();
          await isReady(url);
        },
        demo: JSON.parse(await readFile(join(data_dir, "demo.json"), "utf8")),
      });
      await stop();
      await provider.close();
      await rm(data_dir, { recursive: true });
    },
    { scope: "worker", timeout: 120_000 },
  ],
  problems: async ({ page }, use) => {
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(`uncaught: ${error.message}`));
    page.on("console", (message) => {
      // Chromium logs every answer above 399, also those that a page expects.
      const expected = /^Failed to load resource: the server responded with a status of 4/;
      if (message.type() === "error" && !expected.test(message.text()))
        problems.push(message.text());
    });
    await use(problems);
  },
  settled: async ({ page }, use) => {
    const pending = new Set<Request>();
    const answered = new EventEmitter();
    page.on("request", (request) => {
      if (request.resourceType() !== "eventsource") pending.add(request);
    });
    const end = (request: Request) => {
      pending.delete(request);
      answered.emit("one");
    };
    page.on("requestfinished", end);
    page.on("requestfailed", end);
    await use(async () => {
      do {
        while (pending.size > 0) await once(answered, "one");
        await page.evaluate(async () => {
          for (const _ of ["started", "painted"]) {
            const { promise, resolve } = Promise.withResolvers<number>();
            requestAnimationFrame(resolve);
            await promise;
          }
        });
      } while (pending.size > 0);
    });
  },
  openPage: async ({ page, service }, use) => {
    await use(async (path) => {
      await signInByLink(page, service, service.demo.tokens["account"]!);
      await page.goto(service.url + path);
      await page.getByRole("link", { name: "Trunkline" }).waitFor();
    });
  },
});

/** Signs the browser in as the user of a token, or as another user of its account, without a page. */
export async function signInByLink(
  page: Page,
  { url, demo }: Service,
  token: string,
  user_id?: number,
): Promise<void> {
  const { request } = page.context();
  // A user with a password, who gets no link from the own token.
  if (token === demo.tokens["account"] && user_id === undefined) {
    const data = demo.console;
    const answer = await request.post(`${url}/api/v1/session`, { headers: { origin: url }, data });
    if (!answer.ok()) throw new Error(await answer.text());
    return;
  }
  const headers = { authorization: `Bearer ${token}` };
  const id = user_id ?? (await (await request.get(`${url}/api/v1/me`, { headers })).json()).user.id;
  const made = await request.post(`${url}/api/v1/users/${id}/sign-in-link`, { headers, data: {} });
  const link = ((await made.json()) as { path: string }).path.split("#")[1]!;
  const signed_in = await request.post(`${url}/api/v1/session/link`, {
    headers: { origin: url },
    data: { link },
  });
  if (!signed_in.ok()) throw new Error(await signed_in.text());
}

/** Fills in the form of the sign-in page. */
export async function signIn(
  page: Page,
  { email, password }: Service["demo"]["console"],
): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Trunkline" }).waitFor();
}

/** Goes to a page as a link does, without loading the console again. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => history.pushState(null, "", to), path);
}

/** Loses the answer to the next write to a path, which the service carries out. */
export async function loseAnswer(page: Page, path: string): Promise<void> {
  let isLost = false;
  await page.route(path, async (route) => {
    if (isLost || route.request().method() !== "POST") return route.continue();
    isLost = true;
    await route.fetch();
    await route.abort();
  });
}

/** Holds the requests of a method to a path until the returned function is called. */
export async function holdRequests(page: Page, method: string, path: string): Promise<() => void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route(path, async (route) => {
    if (route.request().method() === method) await released;
    await route.continue();
  });
  return release;
}

/** Creates a lead in the demo's workspace, as a form on a website does; returns its ID. */
export async function createLead(
  { url, demo }: Service,
  lead: Readonly<Record<string, unknown>>,
): Promise<number> {
  const answer = await fetch(`${url}/api/v1/crm/workspaces/1/leads/create`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(lead),
  });
  if (!answer.ok) throw new Error(`the lead was refused with ${answer.status}`);
  return ((await answer.json()) as { id: number }).id;
}

/** Sends a request about the custom fields of the demo's workspace; returns the answer. */
export async function sendField(
  { url, demo }: Service,
  method: string,
  path: string,
  field: object,
): Promise<{ readonly id: number }> {
  const answer = await fetch(`${url}/api/v1/crm/workspaces/1/custom-fields${path}`, {
    method,
    headers: {
      authorization: `Bearer ${demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify(field),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { readonly id: number };
}

/** Creates a voice file with the demo's audio; returns its ID when it is ready. */
export async function createVoiceFile(
  { url, demo }: Service,
  fields: Readonly<Record<"name", string> & Partial<Record<"script", string>>>,
): Promise<number> {
  const headers = { authorization: `Bearer ${demo.tokens["account"]}` };
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set("file", new Blob([await readFile("server/seed-demo/demo-message.wav")]), "a.wav");
  const made = await fetch(`${url}/api/v1/voice/files`, { method: "POST", headers, body: form });
  if (!made.ok) throw new Error(await made.text());
  const { id } = (await made.json()) as { id: number };
  const status = async () => {
    const answer = await fetch(`${url}/api/v1/voice/files/${id}`, { headers });
    return ((await answer.json()) as { status: string }).status;
  };
  await expect.poll(status).toBe("ready");
  return id;
}

/** Polls until the console's page is there, which is after the API is ready. */
async function isReady(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(url, { headers: { accept: "text/html" } }).catch(() => null);
    if (answer?.ok) return;
    await wait(100);
  }
}

/** Creates a campaign of the demo's template, once for a name; returns its ID. */
export async function createCampaign(
  { url, demo }: Service,
  name: string,
  phones: readonly string[],
): Promise<number> {
  const answer = await fetch(`${url}/api/v1/chat/campaigns`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${demo.tokens["account"]}`,
      "content-type": "application/json",
      "idempotency-key": name,
    },
    body: JSON.stringify({
      name,
      chat_number_id: 1,
      template_id: 1,
      contacts: phones.map((phone_number) => ({ phone_number })),
    }),
  });
  if (answer.status !== 201) throw new Error(await answer.text());
  return ((await answer.json()) as { id: number }).id;
}

/** Launches a voice campaign with the demo's content; returns its campaignId. */
export async function launchCalls(
  { url, demo }: Service,
  campaign: Readonly<Record<string, unknown>>,
): Promise<number> {
  const answer = await fetch(`${url}/api/v1/voice/voiceCampaign`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${demo.tokens["account"]}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ voice_file_id: 1, sendTo: "Numbers", ...campaign }),
  });
  if (answer.status !== 201) throw new Error(await answer.text());
  return ((await answer.json()) as { campaignId: number }).campaignId;
}

/** Opens a page in Berlin whose account is in India; close its context. */
export async function openAway(browser: Browser): Promise<Page> {
  const context = await browser.newContext({ timezoneId: "Europe/Berlin" });
  const page = await context.newPage();
  await page.route("**/api/v1/me", async (route) => {
    const response = await route.fetch();
    const me = await response.json();
    me.account.time_zone = "Asia/Kolkata";
    await route.fulfill({ response, json: me });
  });
  return page;
}
