import type { Locator } from "@playwright/test";
import { expect, signInByLink, test } from "./console-fixture.ts";

test("from the sign-in, a lead, a campaign to it and its completion take at most twelve clicks", async ({
  page,
  service,
}) => {
  let clicks = 0;
  const click = async (target: Locator) => {
    clicks++;
    await target.click();
  };
  const { email, password } = service.demo.console;
  await page.goto(service.url);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await click(page.getByRole("button", { name: "Sign in" }));
  await click(page.getByRole("link", { name: "Leads" }));
  await click(page.getByRole("button", { name: "New lead" }));
  await page.getByLabel("Phone number").fill("+91 98123-45001");
  await page.getByLabel("Name", { exact: true }).fill("Ruth Teitelbaum");
  await click(page.getByRole("button", { name: "Create lead" }));
  await expect(page.getByRole("heading", { name: "Ruth Teitelbaum" })).toBeFocused();
  await click(page.getByRole("link", { name: "Campaigns", exact: true }));
  await click(page.getByRole("link", { name: "New campaign" }).first());
  await page.getByLabel("Campaign name").fill("Welcome");
  clicks++;
  await page.getByLabel("Template").selectOption({ index: 1 });
  await page.getByLabel("Numbers").fill("919812345001,Ruth");
  await click(page.getByRole("button", { name: "Check with a dry run" }));
  await click(page.getByRole("button", { name: "Send to 1", exact: true }));
  await expect(page.getByRole("heading", { name: "Welcome", level: 1 })).toContainText("Completed");
  expect(clicks).toBeLessThanOrEqual(12);
});

test("a campaign is composed, checked by a dry run and sent, and a reload keeps the draft", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns");
  await page.getByRole("link", { name: "New campaign" }).first().click();
  await expect(page.getByRole("heading", { name: "New chat campaign" })).toBeFocused();
  await expect(page.getByRole("button", { name: "Discard draft" })).toBeHidden();
  await page.getByLabel("Campaign name").fill("Spring");
  await page.getByLabel("Template").selectOption({ index: 1 });
  await page
    .getByLabel("Numbers")
    .fill("phone,name\n919812345678,Ada\n98123 45678,Twice\nnobody,No\n09812345679,Grace");
  await expect(page.getByText("2 without a country code: read as +91.")).toBeVisible();
  const phone = page.getByRole("complementary", { name: "Preview" });
  await expect(phone).toContainText("Ada");
  await phone.getByRole("button", { name: "Next" }).click();
  await page.reload();
  await expect(page.getByLabel("Campaign name")).toHaveValue("Spring");
  await expect(page.getByText("You continue the draft that you began.")).toBeVisible();
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  const dryRun = page.getByRole("region", { name: "Dry run" });
  await expect(dryRun).toContainText("This is a sandbox: no message");
  await expect(dryRun).toContainText("More than once in the list: 1");
  await expect(dryRun).toContainText("Not a phone number: 1");
  await page.getByRole("button", { name: "Send to 2", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Spring", level: 1 })).toBeFocused();
  await expect(page.getByText("2 of 2")).toBeVisible();
});

test("a list with a value beyond its named columns is refused, so that no person gets another column's text", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns/new");
  await page.getByLabel("Campaign name").fill("Commas");
  await page.getByLabel("Template").selectOption({ index: 1 });
  const numbers = page.getByLabel("Numbers");
  await numbers.fill("phone,name,amount\n919812345678,Ada,5\n919812345679,Rao, Anil,1500");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await expect(numbers).toHaveAccessibleDescription(/919812345679, Rao, Anil, 1500/);
  await numbers.fill('phone,name,amount\n919812345678,Ada,5,\n919812345679,"Rao, Anil",1500');
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await expect(page.getByRole("button", { name: "Send to 2", exact: true })).toBeVisible();
});

test("a file that only the server can read is checked, and sent once, with the columns that were chosen", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns/new");
  await page.getByLabel("Campaign name").fill("From a file");
  await page.getByLabel("Template").selectOption({ index: 1 });
  const csv = "\ufeffGuest;Where\r\nZoë;919812345061\r\nJosé;919812345062\r\nnobody;none\r\n";
  await page.getByLabel("Or read a CSV file").setInputFiles({
    name: "guests.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(csv, "utf16le"),
  });
  await page.getByLabel("Phone column").selectOption("Where");
  await expect(page.getByRole("complementary", { name: "Preview" })).toContainText("Zoë");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  const dryRun = page.getByRole("region", { name: "Dry run" });
  await expect(dryRun).toContainText("Not a phone number: 1");
  await expect(dryRun).toContainText("José");
  await page.getByRole("button", { name: "Send to 2", exact: true }).dblclick();
  await expect(page.getByRole("heading", { name: "From a file", level: 1 })).toContainText(
    "Completed",
  );
});

test("a file that only the server can read is refused if any of its numbers has no country code", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns/new");
  await page.getByLabel("Campaign name").fill("Not to Japan");
  await page.getByLabel("Template").selectOption({ index: 1 });
  // More than the composer shows.
  const known = Array.from({ length: 3_000 }, (_, at) => `91981${2_000_000 + at},Ada`).join("\n");
  const choose = (last: string) =>
    page.getByLabel("Or read a CSV file").setInputFiles({
      name: "guests.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(`\ufeffphone,name\n${known}\n${last},Zoë\n`, "utf16le"),
    });
  const check = page.getByRole("button", { name: "Check with a dry run" });
  await choose("8123456789");
  await check.click();
  await expect(page.getByRole("alert")).toHaveText(
    "The file has 1 number without a country code. Add it, or a + before a number that has one.",
  );
  await expect(check).toBeVisible();
  await page.getByRole("button", { name: "Remove" }).click();
  await choose("+81 23456789");
  await check.click();
  await expect(page.getByRole("button", { name: "Send to 3,001", exact: true })).toBeVisible();
});

test("a column can be chosen for a variable that has none by itself", async ({
  openPage,
  page,
}) => {
  await page.route("**/api/v1/chat/templates?*", async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const [template] = answer.data;
    const [variable] = template.variables;
    const variables = [variable, { ...variable, key: "city" }];
    await route.fulfill({ response, json: { ...answer, data: [{ ...template, variables }] } });
  });
  await openPage("/chat/campaigns/new");
  await page.getByLabel("Template").selectOption({ index: 1 });
  await page.getByLabel("Numbers").fill("phone,name\n919812345678,Ada");
  const city = page.getByLabel("Variable {{city}}");
  await expect(city).toHaveValue("");
  await city.selectOption("name");
  await expect(city).toHaveValue("1");
  await city.selectOption("The default");
  await expect(city).toHaveValue("");
});

test("a campaign whose answer is lost is sent once when it is sent again", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns/new");
  await page.getByLabel("Campaign name").fill("Once");
  await page.getByLabel("Template").selectOption({ index: 1 });
  await page.getByLabel("Numbers").fill("919812345678,Ada");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await page.route("**/api/v1/chat/campaigns", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByRole("button", { name: "Send to 1", exact: true }).click();
  await expect(page.getByText("The server cannot be reached")).toBeVisible();
  await page.unroute("**/api/v1/chat/campaigns");
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Campaign name").fill("Twice");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await page.getByRole("button", { name: "Send to 1", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText(
    "An earlier version of this draft was already sent",
  );
  await page.getByRole("button", { name: "Change" }).click();
  await page.getByLabel("Campaign name").fill("Once");
  await page.reload();
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await page.getByRole("button", { name: "Send to 1", exact: true }).dblclick();
  await expect(page.getByRole("heading", { name: "Once", level: 1 })).toBeFocused();
  await page.getByRole("link", { name: "Campaigns", exact: true }).click();
  await expect(page.getByRole("row", { name: /Once/ })).toHaveCount(1);
  await expect(page.getByRole("row", { name: /Twice/ })).toHaveCount(0);
});

test("a draft and its recipients are not shown to another user who signs in in the tab", async ({
  openPage,
  page,
  service,
}) => {
  const begun = page.getByText("You continue the draft that you began.");
  const name = page.getByLabel("Campaign name");
  const { url, demo } = service;
  await openPage("/chat/campaigns/new");
  await name.fill("Private");
  await page.reload();
  await expect(begun).toBeVisible();
  await signInByLink(page, service, demo.tokens["low_credit"]!);
  await page.goto(`${url}/chat/campaigns/new`);
  await expect(name).toHaveValue("");
  await expect(begun).toBeHidden();
});

test("a draft is discarded only after a question", async ({ openPage, page }) => {
  await openPage("/chat/campaigns/new");
  const name = page.getByLabel("Campaign name");
  await name.fill("Not yet");
  const dialog = page.getByRole("dialog", { name: "Discard this draft?" });
  await page.getByRole("button", { name: "Discard draft" }).click();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(name).toHaveValue("Not yet");
  await page.getByRole("button", { name: "Discard draft" }).click();
  await dialog.getByRole("button", { name: "Discard" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(name).toHaveValue("");
});

test("each violation of a campaign is at its field, and the first has the focus", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns/new");
  await page.getByRole("button", { name: "Check with a dry run" }).click();
  await expect(page.getByLabel("Campaign name")).toBeFocused();
  await expect(page.getByLabel("Campaign name")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Template")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Numbers")).toHaveAttribute("aria-invalid", "true");
});

test("a campaign is composed and sent by keyboard alone", async ({ openPage, page }) => {
  await openPage("/chat/campaigns/new");
  await expect(page.getByRole("heading", { name: "New chat campaign" })).toBeFocused();
  const { keyboard } = page;
  const tabTo = async (name: string) => {
    await keyboard.press("Tab");
    await expect(page.getByLabel(name, { exact: true })).toBeFocused();
  };
  await tabTo("Campaign name");
  await keyboard.type("By keyboard");
  await tabTo("Send from");
  await tabTo("Template");
  await keyboard.press("ArrowDown");
  await tabTo("List or file");
  await tabTo("Numbers");
  await keyboard.type("919812345670");
  await page.getByRole("button", { name: "Check with a dry run" }).focus();
  await keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Send to 1" })).toBeVisible();
  await keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Send to 1" })).toBeFocused();
  await keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "By keyboard" })).toBeFocused();
});

test("every pasted number is a recipient, however numbers are written and separated", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns/new");
  const numbers = page.getByLabel("Numbers");
  const lists = [
    ["+91 98765 43210\n+91 98765 43211", "2 lines, with the number in “Column 1”."],
    ["919876543210, 919876543211; 919876543212", "3 lines, with the number in “Column 1”."],
    ["919876543210, 919876543211, 919876543212", "3 lines, with the number in “Column 1”."],
    ["919876543210,\n919876543211, 919876543212", "3 lines, with the number in “Column 1”."],
    ["Ada,919876543210\nGrace,919876543211", "2 lines, with the number in “Column 2”."],
    ["phone,name\n919876543210,Ada", "1 line under a heading, with the number in “phone”."],
    ["919876543210,1234567890\n919876543211,1234567891", "2 lines, with the number in “Column 1”."],
  ] as const;
  for (const [list, text] of lists) {
    await numbers.fill(list);
    await expect(numbers).toHaveAccessibleDescription(text);
  }
});

test("a template beyond the first page of the list can be sent", async ({
  openPage,
  page,
  problems,
}) => {
  await page.route("**/api/v1/chat/templates?*", async (route) => {
    const second = new URL(route.request().url()).searchParams.get("cursor") === "second";
    const response = await route.fetch({ url: route.request().url().replace("cursor=second", "") });
    const [template] = (await response.json()).data;
    await route.fulfill({
      response,
      json: second
        ? { data: [{ ...template, id: 999_999, name: "newest" }], next_cursor: null }
        : { data: [template], next_cursor: "second" },
    });
  });
  await openPage("/chat/campaigns/new");
  const newest = page.getByLabel("Template").getByRole("option", { name: /newest/ });
  await expect(newest).toHaveCount(1);
  expect(problems).toEqual([]);
});

test("the same file can be chosen again once it was corrected, and a discarded draft has none of it", async ({
  openPage,
  page,
}) => {
  await openPage("/chat/campaigns/new");
  const file = page.getByLabel("Or read a CSV file");
  await file.setInputFiles({
    name: "guests.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("phone\n919812345071\n"),
  });
  await expect(page.getByLabel("Numbers")).toHaveValue(/919812345071/);
  // Otherwise the browser reports no change when the same file is chosen.
  await expect(file).toHaveValue("");
  await page.getByRole("button", { name: "Discard draft" }).click();
  await page.getByRole("button", { name: "Discard", exact: true }).click();
  await expect(page.getByLabel("Numbers")).toHaveValue("");
});
