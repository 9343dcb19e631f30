// What each page costs a visitor: bytes, other hosts, and what moves while it appears.
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "./console-fixture.ts";

type Chunk = {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly isDynamicEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
};

/** What a page measured of itself: the last, the sum and the longest. */
type Seen = { shift: number; largest_ms: number; interaction_ms: number };

test.use({ contextOptions: { reducedMotion: "no-preference" } });

const kilobyte = 1_000;
/** The page that most people see first. */
const home = "pages/overview/overview-page.tsx";
/** Loaded after its page, which works without it. */
const graph = "pages/voice/menus/menu-graph.tsx";

test("the first page loads at most 180 kB of JavaScript and 20 kB of CSS, each further page 60 kB and the graph 100 kB", async () => {
  const dir = join(import.meta.dirname, "../../console/dist");
  const chunks = JSON.parse(await readFile(join(dir, "chunks.json"), "utf8")) as Record<
    string,
    Chunk
  >;
  const sizeOf = async (files: Iterable<string>): Promise<number> => {
    const sizes = await Promise.all(
      Array.from(files, async (file) => (await stat(join(dir, `${file}.gz`))).size),
    );
    return sizes.reduce((sum, size) => sum + size, 0) / kilobyte;
  };
  /** The files that loading a chunk loads. */
  const filesOf = (name: string, found = new Set<string>()): Set<string> => {
    const { file, imports = [] } = chunks[name]!;
    if (!found.has(file)) {
      found.add(file);
      for (const imported of imports) filesOf(imported, found);
    }
    return found;
  };
  const names = Object.keys(chunks);
  const entry = names.find((name) => chunks[name]!.isEntry)!;
  const shell = names.find((name) => name.startsWith("_shell-"))!;
  const frame = new Set([...filesOf(entry), ...filesOf(shell)]);
  const pages = names.filter((name) => name.startsWith("pages/") && chunks[name]!.isDynamicEntry);
  expect(pages.length).toBeGreaterThan(3);
  const costs = await Promise.all(
    pages.map(async (page) => ({
      page,
      kB: await sizeOf([...filesOf(page)].filter((file) => !frame.has(file))),
    })),
  );
  const first = (await sizeOf(frame)) + costs.find(({ page }) => page === home)!.kB;
  const css = await sizeOf(new Set(names.flatMap((name) => chunks[name]!.css ?? [])));
  const report = costs.map(({ page, kB }) => `${page} ${kB.toFixed(1)}`).join(", ");
  console.log(`kB gzipped: first load ${first.toFixed(1)}, CSS ${css.toFixed(1)}, ${report}`);
  expect(first).toBeLessThanOrEqual(180);
  expect(css).toBeLessThanOrEqual(20);
  expect(costs.filter(({ page, kB }) => kB > (page === graph ? 100 : 60))).toEqual([]);
});

test("a page loads nothing from another host and does not move after it has appeared", async ({
  openPage,
  page,
  service,
  settled,
}) => {
  const others: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(service.url)) others.push(request.url());
  });
  await page.addInitScript(() => {
    const seen: Seen = { shift: 0, largest_ms: 0, interaction_ms: 0 };
    Object.assign(globalThis, { seen });
    type Shift = PerformanceEntry & { value: number; hadRecentInput: boolean };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as Shift[])
        if (!entry.hadRecentInput) seen.shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) seen.largest_ms = entry.startTime;
    }).observe({ type: "largest-contentful-paint", buffered: true });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries())
        seen.interaction_ms = Math.max(seen.interaction_ms, duration);
    }).observe({ type: "event", buffered: true, durationThreshold: 16 } as PerformanceObserverInit);
  });
  await openPage("/leads");
  const session = await page.context().newCDPSession(page);
  for (const rate of [1, 4])
    for (const path of ["/leads", "/chat/campaigns"]) {
      await session.send("Emulation.setCPUThrottlingRate", { rate });
      await page.goto(service.url + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await settled();
      const read = () => page.evaluate(() => (globalThis as unknown as { seen: Seen }).seen);
      const { shift, largest_ms } = await read();
      expect(shift, path).toBeLessThanOrEqual(0.05);
      await page.getByRole("button", { name: "Find a person" }).click();
      await page.keyboard.type("98765");
      await page.keyboard.press("Escape");
      const { interaction_ms } = await read();
      console.log(
        `${path}, processor / ${rate}: LCP ${Math.round(largest_ms)} ms, CLS ${shift}, INP ${interaction_ms} ms`,
      );
    }
  expect(others).toEqual([]);
});
