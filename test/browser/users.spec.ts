import { expect, test } from "./console-fixture.ts";

test("an invited person joins, sees the other session, ends it, and is deactivated", async ({
  browser,
  openPage,
  page,
  service,
}) => {
  // A table has the rows in view, and other tests of this service add users before this one.
  await page.setViewportSize({ width: 1_280, height: 6_000 });
  await openPage("/settings/users");
  await page.getByRole("button", { name: "New role" }).click();
  const role = page.getByRole("dialog", { name: "New role" });
  await role.getByLabel("Name").fill("agent");
  await role.getByLabel("See workspaces, contacts and leads").check();
  await role.getByRole("button", { name: "Create role" }).click();
  await expect(role.getByLabel("Name")).toBeFocused();
  await role.getByLabel("Name").fill("Reader");
  await role.getByRole("button", { name: "Create role" }).click();
  await expect(page.getByRole("list", { name: "Roles" })).toContainText("Reader1 permission");
  const granted = page
    .getByRole("table", { name: "Permissions by role" })
    .getByRole("row", { name: /^See workspaces, contacts and leads/ });
  await expect(granted.getByLabel("Yes")).not.toHaveCount(0);
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog", { name: "Invite a person" });
  await dialog.getByLabel("Email").fill("not an address");
  await dialog.getByRole("button", { name: "Invite" }).click();
  await expect(dialog.getByLabel("Email")).toBeFocused();
  await dialog.getByLabel("Email").fill("meera@demo.example");
  await dialog.getByLabel("Role").selectOption("Reader");
  await dialog.getByRole("button", { name: "Invite" }).click();
  const link = await dialog.getByLabel("Link").inputValue();
  await dialog.getByRole("button", { name: "Done" }).click();
  const invitations = page.getByRole("list", { name: "Open invitations" });
  await expect(invitations).toContainText("meera@demo.example");

  const theirs = await (await browser.newContext()).newPage();
  await theirs.goto(link);
  await expect(theirs.getByRole("heading", { name: "Join Demo" })).toBeVisible();
  await expect(theirs).toHaveURL(`${service.url}/sign-in/invitation`);
  await theirs.getByLabel("Your name").fill("Meera Rao");
  await theirs.getByLabel("Password").fill("short");
  await theirs.getByRole("button", { name: "Join" }).click();
  await expect(theirs.getByLabel("Password")).toBeFocused();
  await theirs.getByLabel("Password").fill("correct horse battery");
  await theirs.getByRole("button", { name: "Join" }).click();
  await expect(theirs.getByRole("button", { name: /Meera Rao/ })).toBeVisible();

  const other = await (await browser.newContext()).newPage();
  await other.goto(`${service.url}/settings/profile`);
  await other.getByLabel("Email").fill("meera@demo.example");
  await other.getByLabel("Password").fill("correct horse battery");
  await other.getByRole("button", { name: "Sign in" }).click();
  await other.getByRole("button", { name: "Sign out the others" }).click();
  await expect(other.getByRole("list", { name: "Sessions" }).getByRole("listitem")).toHaveCount(1);
  await theirs.reload();
  await expect(theirs.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await other.getByLabel("Name").fill("Meera R.");
  await other.getByLabel("Name").press("Enter");
  await expect(other.getByRole("button", { name: /Meera R\./ })).toBeVisible();

  await page.reload();
  await expect(page.getByRole("table", { name: "Users" })).toContainText("meera@");
  await expect(page.getByRole("listitem").filter({ hasText: "meera@" })).toHaveCount(0);
  await page.getByRole("button", { name: "Meera R." }).click();
  // She has none.
  await expect(page.getByRole("button", { name: "Remove the authenticator app" })).toBeHidden();
  await page.getByRole("button", { name: "Deactivate" }).click();
  await expect(page.getByRole("button", { name: "Reactivate" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Meera R." })).toBeFocused();
  await other.reload();
  await expect(other.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await theirs.context().close();
  await other.context().close();
});

test("one's own row creates no sign-in link, and asks for the password before the email address changes", async ({
  openPage,
  page,
  service,
}) => {
  await page.setViewportSize({ width: 1_280, height: 6_000 });
  await openPage("/settings/users");
  const row = page.getByRole("row", { name: /\(you\)/ });
  await row.getByRole("button").click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByLabel("Email")).toHaveValue(service.demo.console.email);
  await expect(dialog.getByRole("button", { name: "Create a sign-in link" })).toHaveCount(0);
  const password = dialog.getByLabel("Your password");
  await expect(password).toHaveCount(0);
  await dialog.getByLabel("Email").fill("olivia.elsewhere@demo.example");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByText("Enter your password")).toBeVisible();
  await password.fill("not the password");
  await expect(dialog.getByRole("button", { name: "Show as curl" })).toHaveCount(0);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByText("is not your current password")).toBeVisible();
  await dialog.getByLabel("Email").fill(service.demo.console.email);
  await expect(password).toHaveCount(0);
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(row).toContainText(service.demo.console.email);
});

test("a user who is saved keeps the address that somebody else has changed, also without a change", async ({
  openPage,
  page,
  service,
}) => {
  const send = async (method: string, path: string, body: object) => {
    const answer = await fetch(`${service.url}/api/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        "content-type": "application/json",
      },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { id: number };
  };
  const { id } = await send("POST", "users", { name: "Uma Two", email: "uma@demo.example" });
  await page.setViewportSize({ width: 1_280, height: 6_000 });
  await openPage("/settings/users");
  await page.getByRole("button", { name: "Uma Two" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill("Uma Three");
  await send("PATCH", `users/${id}`, { email: "uma.new@demo.example" });
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("row", { name: /Uma Three/ });
  await expect(row).toContainText("uma.new@demo.example");
  await page.getByRole("button", { name: "Uma Three" }).click();
  await send("PATCH", `users/${id}`, { email: "uma.last@demo.example" });
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.reload();
  await expect(row).toContainText("uma.last@demo.example");
});

test("a role that is renamed keeps the permissions that somebody else has changed meanwhile", async ({
  openPage,
  page,
  service,
}) => {
  const send = async (method: string, path: string, json?: object) => {
    const answer = await fetch(`${service.url}/api/v1/roles${path}`, {
      method,
      headers: {
        authorization: `Bearer ${service.demo.tokens["account"]}`,
        ...(json ? { "content-type": "application/json" } : {}),
      },
      ...(json ? { body: JSON.stringify(json) } : {}),
    });
    return (await answer.json()) as { id: number; permissions: string[] };
  };
  const permissions = ["calls.read", "calls.export"];
  const { id } = await send("POST", "", { name: "Exporters", permissions });
  await openPage("/settings/users");
  await page.getByRole("button", { name: "Edit Exporters" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("checkbox").first()).toBeVisible();
  await send("PATCH", `/${id}`, { permissions: ["calls.read"] });
  await dialog.getByLabel("Name").fill("Listeners");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("button", { name: "Edit Listeners" })).toBeVisible();
  expect((await send("GET", `/${id}`)).permissions).toEqual(["calls.read"]);
});
