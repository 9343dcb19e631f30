import { randomUUID } from "node:crypto";
import { fillLeads } from "../support/fill-depth.ts";
import { createLead, expect, test, type Service } from "./console-fixture.ts";
import { openDatabase } from "./open-database.ts";

const leads = 100_000;
const rows_max = 80;

/** Inserts leads of the demo's account into the embedded database. */
async function fill(service: Service): Promise<void> {
  const db = await openDatabase(service);
  const { rows } = await db.query<{ account_id: string; id: string }>(
    "select account_id, id from users where email = 'owner@demo.example'",
  );
  const [owner] = rows;
  const demo = {
    account_id: Number(owner!.account_id),
    owner_id: Number(owner!.id),
    workspace_id: 1,
  };
  await fillLeads(db, demo, leads);
  await db.end();
}

test.beforeAll(({ service }) => fill(service));

test("of 100,000 leads at most 80 rows are in the page, and filter, reload and Back show the same rows", async ({
  openPage,
  page,
  problems,
}) => {
  await openPage("/leads");
  const rows = page.getByRole("row");
  const index_of_last = () =>
    rows.evaluateAll((all) => Math.max(...all.map((row) => Number(row.ariaRowIndex ?? 0))));
  /** The header and what is below it; undefined while there are fewer. */
  const first_rows = async () => {
    const texts = (await rows.allInnerTexts()).slice(0, 5);
    return texts.length === 5 ? texts.join() : undefined;
  };
  /** Chromium may drop a key while it still scrolls. */
  const pressUntil = (key: string, check: () => Promise<void>) =>
    expect(async () => {
      await page.keyboard.press(key);
      await check();
    }).toPass();
  const soon = { timeout: 2_000 };
  await expect.poll(first_rows).toContain("Name");
  const everyone = await first_rows();
  for (let page_end = 0; page_end < 5; page_end++) {
    const before = await index_of_last();
    await pressUntil("End", () => expect.poll(index_of_last, soon).toBeGreaterThan(before));
    expect(await rows.count()).toBeLessThanOrEqual(rows_max);
  }
  await pressUntil("Home", () => expect.poll(first_rows, soon).toEqual(everyone));
  await page.getByRole("combobox", { name: "Status" }).selectOption("Contacted");
  await expect.poll(first_rows).toMatch(/^(?!.*\bNew\b).*Contacted/s);
  const contacted = await first_rows();
  await page.reload();
  await expect.poll(first_rows).toEqual(contacted);
  await page.goBack();
  await expect.poll(first_rows).toEqual(everyone);
  expect(problems).toEqual([]);
});

test("while leads are created, a list that was scrolled is read again at two requests a second at most", async ({
  openPage,
  page,
  service,
}) => {
  // As the browser recorded them: it may report them late.
  const readList = async () => {
    const read = await page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .map(({ name, startTime }) => [name, startTime] as const),
    );
    return read.flatMap(([name, at]) => {
      const { pathname, searchParams } = new URL(name);
      const cursor = searchParams.get("cursor");
      return pathname === "/api/v1/crm/workspaces/1/leads" ? [{ at, cursor }] : [];
    });
  };
  await openPage("/leads");
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  const pages = 8;
  await expect(async () => {
    await page.keyboard.press("End");
    // Not the reads: late events of other leads may have the first pages read again.
    const read = await readList();
    expect(new Set(read.map(({ cursor }) => cursor)).size).toBeGreaterThanOrEqual(pages);
  }).toPass();
  const firsts = async () => (await readList()).filter(({ cursor }) => cursor === null);
  const before = (await firsts()).length;
  let name = "";
  await expect(async () => {
    name = `Kathleen ${randomUUID()}`;
    await createLead(service, { phone: "9876500553", name });
    expect((await firsts()).length).toBeGreaterThan(before + 2);
  }).toPass({ intervals: [200], timeout: 60_000 });
  // The first time that the list is read again may begin soon after the last page.
  const [earlier, later] = (await firsts()).slice(-2);
  expect(later!.at - earlier!.at).toBeGreaterThanOrEqual(pages * 500);
  await page.keyboard.press("Home");
  await expect(page.getByRole("row", { name: new RegExp(name) })).toBeVisible();
});
