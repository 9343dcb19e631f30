import { expect, follow, test } from "./console-fixture.ts";

test("an operator adds a node and a trunk, gives an account a number, and its calls are sent to a menu", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/installation");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add a sandbox" }).click();
  await dialog.getByLabel("Name").fill("Second node");
  await dialog.getByLabel("Calls at the same time").fill("0");
  await dialog.getByRole("button", { name: "Add the node" }).click();
  await expect(dialog.getByLabel("Calls at the same time")).toBeFocused();
  await dialog.getByLabel("Calls at the same time").fill("30");
  await dialog.getByRole("button", { name: "Add the node" }).click();
  const node = page.getByRole("table", { name: "Voice nodes" }).getByRole("row", {
    name: /Second node/,
  });
  await expect(node).toContainText("Connected");

  await page.getByRole("button", { name: "Add a trunk" }).click();
  await dialog.getByLabel("Name").fill("Second carrier");
  await dialog.getByLabel("Endpoint").fill("carrier2");
  await dialog.getByLabel("Caller IDs").fill("9000000077");
  await dialog.getByLabel("The node Second node has it").check();
  await dialog.getByRole("button", { name: "Add the trunk" }).click();
  await expect(dialog.getByLabel("New legs a second on Second node")).toBeFocused();
  await dialog.getByLabel("New legs a second on Second node").fill("5");
  await dialog.getByLabel("Calls at the same time on Second node").fill("20");
  await dialog.getByRole("button", { name: "Add the trunk" }).click();
  const trunk = page.getByRole("table", { name: "Trunks" }).getByRole("row", {
    name: /Second carrier/,
  });
  await expect(trunk).toContainText("In use");
  await trunk.getByRole("button", { name: "Change Second carrier" }).click();
  await expect(dialog.getByLabel("Calls at the same time on Second node")).toHaveValue("20");
  // A colleague switches it off meanwhile: only what is changed here is sent.
  await page.evaluate(async () => {
    const path = "/api/v1/trunks";
    const { data } = (await (await fetch(`${path}?limit=200`)).json()) as {
      data: { id: number; name: string }[];
    };
    const { id } = data.find(({ name }) => name === "Second carrier")!;
    const headers = { "content-type": "application/json" };
    await fetch(`${path}/${id}`, { method: "PATCH", headers, body: '{"active":false}' });
  });
  await dialog.getByLabel("Dialed before each number").fill("0");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(trunk).toContainText("No new calls");
  await trunk.getByRole("button", { name: "Change Second carrier" }).click();
  await expect(dialog.getByLabel("Dialed before each number")).toHaveValue("0");
  await expect(dialog.getByLabel("Takes new calls")).not.toBeChecked();
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Assign a number" }).click();
  await dialog.getByLabel("Phone number").fill("+919000000077");
  await dialog.getByLabel("Account").fill("1");
  await dialog.getByRole("button", { name: "Assign the number" }).click();
  await expect(page.getByRole("table", { name: "Owners of phone numbers" })).toContainText(
    "919000000077",
  );
  await follow(page, "/telephony");
  const number = page.getByRole("table", { name: "Phone numbers", exact: true }).getByRole("row", {
    name: /919000000077/,
  });
  await expect(number).toContainText("Nowhere");
  await number.getByRole("button", { name: "Change +919000000077" }).click();
  await dialog.getByLabel("Incoming calls go to").selectOption("Menu: Demo menu");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(number).toContainText("Menu: Demo menu");

  await page.getByRole("link", { name: "Nodes and trunks" }).click();
  const owners = page.getByRole("table", { name: "Owners of phone numbers" });
  await owners.getByRole("button", { name: "Delete +919000000077" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(owners.getByText("919000000077")).toHaveCount(0);
  await trunk.getByRole("button", { name: "Delete Second carrier" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(trunk).toHaveCount(0);
  await node.getByRole("button", { name: "Delete Second node" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(node).toHaveCount(0);
  expect(problems).toEqual([]);
});

test("a call is placed from the dialer, and is seen until it ends", async ({
  openPage,
  page,
  problems,
  service,
}) => {
  await openPage("/");
  await page.getByRole("link", { name: "New call" }).click();
  await expect(page.getByText("This is a sandbox: calls are simulated")).toBeVisible();
  await page.getByLabel("Customer").fill("98765");
  await page.getByLabel("Your extension or phone number").fill("101");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(page.getByLabel("Customer")).toBeFocused();
  await page.getByLabel("Customer").fill("+91 98765 00241");
  await page.getByLabel("Note").fill("Asked for a call back");
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await expect(
    page.getByText("You can place the next call when this one has ended."),
  ).toBeVisible();
  await expect(page.getByText("Note: Asked for a call back")).toBeVisible();
  const parties = page.getByRole("region", { name: "Parties" });
  await expect(parties).toContainText("Agent 101");
  await expect(parties).toContainText("Customer 919876500241");
  await expect(page.getByText("Completed", { exact: true })).toBeVisible();
  await expect(page.getByRole("button", { name: "Call", exact: true })).toBeVisible();
  await expect(page.getByLabel("Your extension or phone number")).toHaveValue("101");
  await expect(page).not.toHaveURL(/%22/);
  await page.getByRole("link", { name: "Details" }).click();
  await expect(page.getByRole("region", { name: "Note" })).toContainText("Asked for a call back");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("9876500241");
  // An address of an earlier version.
  await page.goto(`${service.url}/calls/new?to=%229876500242%22`);
  await expect(page.getByLabel("Customer")).toHaveValue("9876500242");
  await page.goto(`${service.url}/calls/new?to=9876500243`);
  await expect(page.getByLabel("Customer")).toHaveValue("9876500243");
  expect(problems).toEqual([]);
});

test("the dialer no longer says that no phone rings once a trunk of an Asterisk was added in the same tab", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/calls/new");
  const note = page.getByText("This is a sandbox: calls are simulated");
  await expect(note).toBeVisible();
  await follow(page, "/installation");
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Add an Asterisk" }).click();
  await dialog.getByLabel("Name").fill("A real switch");
  await dialog.getByLabel("URL of its ARI").fill("http://127.0.0.1:9/ari");
  await dialog.getByLabel("User").fill("trunkline");
  await dialog.getByLabel("Password").fill("secret");
  await dialog.getByLabel("Application").fill("trunkline");
  await dialog.getByRole("button", { name: "Add the node" }).click();
  await expect(dialog).toBeHidden();
  await page.getByRole("button", { name: "Add a trunk" }).click();
  await dialog.getByLabel("Name").fill("A real carrier");
  await dialog.getByLabel("Endpoint").fill("carrier3");
  await dialog.getByLabel("The node A real switch has it").check();
  await dialog.getByLabel("New legs a second on A real switch").fill("5");
  await dialog.getByLabel("Calls at the same time on A real switch").fill("20");
  await dialog.getByRole("button", { name: "Add the trunk" }).click();
  await expect(dialog).toBeHidden();
  await follow(page, "/calls/new");
  await expect(page.getByRole("heading", { name: "Dialer" })).toBeFocused();
  await expect(note).toBeHidden();

  await follow(page, "/installation");
  for (const name of ["A real carrier", "A real switch"]) {
    await page.getByRole("button", { name: `Delete ${name}` }).click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(dialog).toBeHidden();
  }
  await follow(page, "/calls/new");
  await expect(note).toBeVisible();
  expect(problems).toEqual([]);
});
