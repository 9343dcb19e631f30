import { Secret, TOTP } from "otpauth";
import type { Locator, Page } from "@playwright/test";
import {
  createCampaign,
  createLead,
  expect,
  holdRequests,
  signIn,
  signInByLink,
  test,
} from "./console-fixture.ts";

/** Ends the session and clicks; nothing that the page reads by itself is refused, and asks, before the click. */
async function clickWithoutSession(page: Page, control: Locator): Promise<void> {
  const release = await holdRequests(page, "GET", "**/api/**");
  await page.context().clearCookies();
  await control.click();
  release();
}

test("a page that needs a session leads to the sign-in and back to itself", async ({
  page,
  service,
}) => {
  await page.goto(`${service.url}/leads?q=Ada`);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeFocused();
  await signIn(page, service.demo.console);
  await expect(page).toHaveURL(`${service.url}/leads?q=Ada`);
  await expect(page.getByRole("heading", { name: "Leads" })).toBeFocused();
});

test("the end of the session leads to the sign-in and back to the page", async ({
  openPage,
  page,
  service,
}) => {
  const streams = () =>
    page.evaluate(async () => (await navigator.locks.query()).held!.map(({ name }) => name));
  await openPage("/leads");
  await expect.poll(streams).toEqual(["trunkline-live"]);
  await clickWithoutSession(page, page.getByRole("link", { name: "Calls", exact: true }));
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeFocused();
  await expect.poll(streams).toEqual([]);
  await signIn(page, service.demo.console);
  await expect(page).toHaveURL(`${service.url}/calls`);
  await expect(page.getByRole("heading", { name: "Calls" })).toBeFocused();
});

test("the end of the session asks first on a page with unsaved changes", async ({
  openPage,
  page,
}) => {
  await openPage("/settings/account");
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("Not saved yet");
  await clickWithoutSession(page, page.getByRole("button", { name: "Save" }).first());
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Stay" }).click();
  await expect(name).toHaveValue("Not saved yet");
  await page.getByRole("link", { name: "Leads", exact: true }).click();
  await question.getByRole("button", { name: "Discard changes" }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeFocused();
});

test("the end of the session keeps what was typed in a dialog and in an answer", async ({
  openPage,
  page,
  service,
}) => {
  await createCampaign(service, "Answered at the end", ["919817777005"]);
  await openPage("/chat/replies");
  const stay = async () => {
    const question = page.getByRole("dialog", { name: "Discard your changes?" });
    await question.getByRole("button", { name: "Stay" }).click();
    await expect(question).toBeHidden();
  };
  await page.getByRole("link", { name: "+919817777005" }).click();
  const answer = page.getByLabel("Answer");
  await answer.fill("We will call you at 4 pm.");
  await page.getByRole("link", { name: "Leads", exact: true }).click();
  await stay();
  await clickWithoutSession(page, page.getByRole("button", { name: "Send answer" }));
  await stay();
  await expect(answer).toHaveValue("We will call you at 4 pm.");

  await openPage("/leads");
  await page.getByRole("button", { name: "New lead" }).click();
  await page.getByLabel("Phone number").fill("9876500201");
  const create = page.getByRole("button", { name: "Create lead" });
  await clickWithoutSession(page, create);
  await stay();
  await expect(page.getByLabel("Phone number")).toHaveValue("9876500201");
  await signInByLink(page, service, service.demo.tokens["account"]!);
  await create.click();
  await expect(page).toHaveURL(/\/leads\/\d+/);
});

test("a group is created from a dialog, which then asks about no changes", async ({
  openPage,
  page,
}) => {
  await openPage("/groups");
  await page.getByRole("button", { name: "New group" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Created without a question");
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page.getByRole("heading", { name: "Created without a question" })).toBeFocused();
});

test("after another account signs in elsewhere, a tab that stayed at the end of its session saves nothing until it shows that account", async ({
  openPage,
  page,
  service,
}) => {
  const headers = { authorization: `Bearer ${service.demo.tokens["other_account"]}` };
  const read = async (path: string) =>
    (await fetch(`${service.url}/api/v1/${path}`, { headers })).json();
  const { user, account } = await read("me");
  const made = await fetch(`${service.url}/api/v1/users/${user.id}/sign-in-link`, {
    method: "POST",
    headers,
  });
  const { path } = await made.json();
  await createLead(service, { phone: "9876500203", name: "Lead of the first account" });
  await openPage("/leads");
  const first_lead = page.getByRole("link", { name: "Lead of the first account" });
  await first_lead.waitFor();
  await page.getByRole("link", { name: "Account", exact: true }).click();
  const name = page.getByLabel("Name", { exact: true });
  // A key press, without which the browser does not ask about unsaved changes.
  await name.press("End");
  await name.pressSequentially(" typed before");
  const save = page.getByRole("button", { name: "Save" }).first();
  await clickWithoutSession(page, save);
  await page.getByRole("dialog").getByRole("button", { name: "Stay" }).click();

  const asked = page.waitForEvent("dialog", { timeout: 60_000 });
  const other = await page.context().newPage();
  await other.goto(service.url + path);
  await other.getByRole("button", { name: "Sign in" }).click();
  await other.getByRole("button", { name: user.name }).waitFor();
  await (await asked).dismiss();
  await save.click();
  await expect(page.getByRole("alert")).toContainText("Another user has signed in");
  expect((await read("account")).name).toBe(account.name);
  let answer = () => {};
  const isAnswered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route("**/leads?*", (route) => isAnswered.then(() => route.continue()));
  await page.getByRole("link", { name: "Leads", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard changes" }).click();
  await expect(page.getByRole("button", { name: user.name })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Leads" })).toBeVisible();
  await expect(first_lead).toBeHidden();
  answer();
  await page.getByRole("button", { name: "New lead" }).click();
  await page.getByLabel("Phone number").fill("9876500202");
  await page.getByRole("button", { name: "Create lead" }).click();
  await expect(page).toHaveURL(/\/leads\/\d+/);
});

test("a sign-in in another tab shows this tab to that user", async ({
  openPage,
  page,
  service,
}) => {
  const token = service.demo.tokens["account"]!;
  const person = {
    name: "Nora Next",
    email: "nora.next@demo.example",
    password: "a good first password",
  };
  const { email, password } = person;
  const send = (path: string, json: object) =>
    fetch(`${service.url}/api/v1/${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "sec-fetch-site": "same-origin",
      },
      body: JSON.stringify(json),
    });
  const made = await send("users", { name: person.name, email });
  const { id } = await made.json();
  const link = await (await send(`users/${id}/sign-in-link`, {})).json();
  await openPage("/settings/profile");
  const other = await page.context().newPage();
  await other.goto(service.url + link.path);
  await other.getByLabel("New password").fill(password);
  await other.getByRole("button", { name: "Sign in" }).click();
  await other.getByRole("button", { name: person.name }).waitFor();
  await expect(page.getByRole("button", { name: person.name })).toBeVisible();
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue(person.name);
});

test("a wrong password is reported, and both fields keep what was typed", async ({
  page,
  service,
}) => {
  await page.goto(`${service.url}/sign-in`);
  await page.getByLabel("Email").fill(service.demo.console.email);
  await page.getByLabel("Password").fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toHaveText("The email address or the password is wrong");
  await expect(page.getByLabel("Email")).toHaveValue(service.demo.console.email);
});

test("the number of the account can be entered with the password", async ({ page, service }) => {
  const { email, password } = service.demo.console;
  const headers = { authorization: `Bearer ${service.demo.tokens["account"]}` };
  const { account } = await (await fetch(`${service.url}/api/v1/me`, { headers })).json();
  await page.goto(`${service.url}/sign-in`);
  const number = page.getByLabel("Account number");
  await expect(page.getByLabel("Email")).toBeVisible();
  await expect(number).toBeHidden();
  await page.getByText("A user of more than ten accounts?").click();
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await number.fill("5x");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("Enter digits only")).toBeVisible();
  await number.fill("999999");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toHaveText("The email address or the password is wrong");
  await expect(number).toHaveValue("999999");
  await number.fill(String(account.id));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goto(`${service.url}/settings/profile`);
  await expect(page.getByText(`account number ${account.id}`)).toBeVisible();
});

test("an account that is not among the choices is entered by its number", async ({
  page,
  service,
}) => {
  const { email, password } = service.demo.console;
  const headers = { authorization: `Bearer ${service.demo.tokens["account"]}` };
  const { account } = await (await fetch(`${service.url}/api/v1/me`, { headers })).json();
  const choices = [
    { account_id: 900_001, name: "First of many" },
    { account_id: 900_002, name: "Second of many" },
  ];
  const json = { signed_in: false, choices, more_accounts: true, code_required: false };
  await page.route("**/api/v1/session", (route) => route.fulfill({ json }), { times: 1 });
  await page.goto(`${service.url}/sign-in`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("button", { name: "Second of many" })).toBeVisible();
  await page.getByLabel("Account number").fill(String(account.id));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
});

test("a person signs in at the identity provider and comes back to the page they wanted", async ({
  page,
  problems,
  service,
}) => {
  const { email } = service.demo.console;
  service.provider.claims = { email: "stranger@demo.example", email_verified: true };
  await page.goto(`${service.url}/leads?q=Ada`);
  await page.getByRole("button", { name: "Continue with Example" }).click();
  await expect(page.getByRole("alert")).toContainText("There is no user stranger@demo.example");
  service.provider.claims = { email, email_verified: true };
  await page.getByRole("link", { name: "Back to the sign-in" }).click();
  await page.getByRole("button", { name: "Continue with Example" }).click();
  await expect(page).toHaveURL(`${service.url}/leads?q=Ada`);
  await expect(page.getByRole("heading", { name: "Leads" })).toBeFocused();
  expect(problems).toEqual([]);
});

test("an authenticator app is set up, asked for at the sign-in and removed", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  const { email, password } = service.demo.console;
  await openPage("/settings/profile");
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByLabel("Your password").fill(password);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("img", { name: "The key as a QR code" })).toBeVisible();
  const secret = await page.getByLabel("Key", { exact: true }).inputValue();
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  await page.getByLabel("Code", { exact: true }).fill(totp.generate());
  await page.getByRole("button", { name: "Confirm" }).click();
  const codes = page.getByRole("list", { name: "Recovery codes" }).getByRole("listitem");
  await expect(codes).toHaveCount(10);
  const [first, second] = await codes.allInnerTexts();
  await page.getByRole("button", { name: "I have kept them" }).click();
  await expect(page.getByText("10 recovery codes are left")).toBeVisible();

  await page.context().clearCookies();
  await page.goto(`${service.url}/leads`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  const code = page.getByLabel("Code");
  await expect(code).toBeFocused();
  await code.fill("0000-0000-0000-0000");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toHaveText("This code is wrong or was used already");
  await code.fill(first!);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Leads" })).toBeFocused();

  await page.goto(`${service.url}/settings/profile`);
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("dialog").getByLabel("Code").fill(second!);
  await page.getByRole("button", { name: "Remove the app" }).click();
  await expect(page.getByRole("button", { name: "Set up" })).toBeVisible();
  expect(problems).toEqual([]);
});

/** Gives the browser of a page a device that makes passkeys and is always unlocked. */
async function addAuthenticator(page: Page) {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

test("a passkey is added, signs in without a password, and is removed", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await addAuthenticator(page);
  await openPage("/settings/profile");
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByLabel("Your password").fill(service.demo.console.password);
  await page.getByRole("button", { name: "Continue" }).click();
  const passkeys = page.getByRole("list", { name: "Passkeys" });
  await expect(passkeys.getByRole("listitem")).toContainText("Chrome on Linux");

  await page.context().clearCookies();
  await page.goto(`${service.url}/leads`);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await expect(page.getByRole("heading", { name: "Leads" })).toBeFocused();

  await page.goto(`${service.url}/settings/profile`);
  await passkeys.getByRole("button", { name: "Remove Chrome on Linux" }).click();
  await page.getByRole("button", { name: "Remove the passkey" }).click();
  await expect(passkeys).toBeHidden();
  await page.context().clearCookies();
  await page.goto(`${service.url}/leads`);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await expect(page.getByRole("alert")).toContainText("This passkey does not sign anyone in here");
  expect(problems).toEqual([]);
});

test("someone who manages users removes the passkey of a lost device, which signs its user out", async ({
  browser,
  openPage,
  page,
  problems,
  service,
}) => {
  const token = service.demo.tokens["account"]!;
  const made = await fetch(`${service.url}/api/v1/users`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "Lata Lost", email: "lata.lost@demo.example" }),
  });
  const lost = await (await browser.newContext()).newPage();
  await addAuthenticator(lost);
  await signInByLink(lost, service, token, (await made.json()).id);
  await lost.goto(`${service.url}/settings/profile`);
  await lost.getByRole("button", { name: "Add a passkey" }).click();
  await lost.getByRole("button", { name: "Continue" }).click();
  await expect(lost.getByRole("list", { name: "Passkeys" })).toBeVisible();

  await page.setViewportSize({ width: 1_280, height: 6_000 });
  await openPage("/settings/users");
  await page.getByRole("button", { name: "Lata Lost" }).click();
  const removal = page.getByRole("button", { name: "Remove the passkey" });
  await removal.click();
  await expect(page.getByText("Lata Lost has no passkey now")).toBeVisible();
  await expect(removal).toBeHidden();
  await lost.goto(`${service.url}/leads`);
  await lost.getByRole("button", { name: "Use a passkey" }).click();
  await expect(lost.getByRole("alert")).toContainText("This passkey does not sign anyone in here");
  await lost.context().close();
  expect(problems).toEqual([]);
});

test("a person signs in and out by keyboard alone", async ({ page, service }) => {
  const { email, password } = service.demo.console;
  await page.goto(`${service.url}/sign-in`);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeFocused();
  await page.keyboard.press("Tab");
  await page.keyboard.type(email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(password);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Overview" })).toBeFocused();
  await page.getByRole("button", { name: /Olivia Owner/ }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("link", { name: "Your profile" })).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Sign out", exact: true })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeFocused();
  await page.goto(`${service.url}/leads`);
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
});

test("a sign-out that fails says so, and the user stays signed in", async ({ openPage, page }) => {
  await openPage("/groups");
  await page.route("**/api/v1/session", (route) =>
    route.fulfill({ status: 503, json: { detail: "Try again later" } }),
  );
  await page.route("**/api/v1/sessions", (route) =>
    route.request().method() === "DELETE" ? route.abort() : route.continue(),
  );
  const menu = page.getByRole("button", { name: /Olivia Owner/ });
  await menu.click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(page.getByRole("alert")).toHaveText("Try again later");
  await page.getByRole("button", { name: "Sign out everywhere" }).click();
  await expect(page.getByText("The server cannot be reached")).toBeVisible();
  await expect(page.getByRole("heading", { name: "Groups" })).toBeVisible();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeFocused();
});

test("a link signs in once, and disappears from the address bar", async ({ page, service }) => {
  const headers = { authorization: `Bearer ${service.demo.tokens["other_account"]}` };
  const me = await (await fetch(`${service.url}/api/v1/me`, { headers })).json();
  const made = await fetch(`${service.url}/api/v1/users/${me.user.id}/sign-in-link`, {
    method: "POST",
    headers,
  });
  const { path } = await made.json();
  await page.goto(service.url + path);
  await expect(page).toHaveURL(`${service.url}/sign-in`);
  await expect(page.getByText("your passkeys are removed")).toBeVisible();
  await page.getByLabel("New password").fill("short");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByLabel("New password")).toBeFocused();
  await expect(page.getByText("at least 10 characters", { exact: false }).first()).toBeVisible();
  await page.getByLabel("New password").fill("");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.context().clearCookies();
  await page.goto("about:blank");
  await page.goto(service.url + path);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toContainText("was used already or has expired");
});

test("a user without a password is asked before signing out, and sets a password in the profile", async ({
  page,
  problems,
  service,
}) => {
  // Without the identity provider of these tests, by which everyone could sign in again.
  await page.route("**/api/v1/session/options", (route) =>
    route.fulfill({ json: { passkeys: true, oidc: null, password_reset_by_mail: false } }),
  );
  const token = service.demo.tokens["account"]!;
  const made = await fetch(`${service.url}/api/v1/users`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ name: "Ravi Link", email: "ravi.link@demo.example" }),
  });
  await signInByLink(page, service, token, (await made.json()).id);
  await page.goto(`${service.url}/settings/profile`);
  const menu = page.getByRole("button", { name: "Ravi Link" });
  const dialog = page.getByRole("dialog");
  await menu.click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(dialog).toContainText("you need a new link: ask someone who manages users");
  await dialog.getByRole("button", { name: "Cancel" }).click();

  const password = page.getByRole("region", { name: "Password" });
  await expect(password).toContainText("You have no password yet");
  await expect(password.getByLabel("Current password")).toHaveCount(0);
  await password.getByLabel("New password").fill("a good first password");
  await password.getByRole("button", { name: "Set password" }).click();
  await expect(password.getByLabel("Current password")).toBeVisible();
  await menu.click();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await signIn(page, { email: "ravi.link@demo.example", password: "a good first password" });
  expect(problems).toEqual([]);
});
