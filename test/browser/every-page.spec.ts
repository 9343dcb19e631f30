// What holds for every page, in both color schemes, on narrow and wide screens.
import axe, { type RunOptions } from "axe-core";
import {
  createCampaign,
  createLead,
  expect,
  follow,
  launchCalls,
  test,
} from "./console-fixture.ts";

declare global {
  interface Window {
    readonly axe: typeof axe;
  }
}

// As long as a row of a phone, with no place to break.
const greetings = "2026-11_greetings_to_everyone_who_ordered_in_spring_segment_B";

const pages = [
  { path: "/", heading: "Overview" },
  { path: "/leads", heading: "Leads" },
  { path: "/leads/import", heading: "Import leads" },
  { path: "/people/+919876543210", heading: "+919876543210" },
  { path: "/contacts", heading: "Contacts" },
  { path: "/chat/numbers", heading: "Chat numbers" },
  { path: "/chat/flows", heading: "Chat flows" },
  { path: "/chat/campaigns", heading: "Chat campaigns" },
  { path: "/chat/campaigns/new", heading: "New chat campaign" },
  { path: "/chat/templates", heading: "Templates" },
  { path: "/chat/templates/new", heading: "New template" },
  { path: "/chat/templates/1", heading: "demo_greeting" },
  { path: "/chat/replies", heading: "Replies" },
  { path: "/chat/replies/+919876777005", heading: "+919876777005" },
  { path: "/voice/campaigns", heading: "Voice campaigns" },
  { path: "/voice/campaigns/new", heading: "New voice campaign" },
  { path: "/voice/files", heading: "Audio & scripts" },
  { path: "/voice/files/new", heading: "New content" },
  { path: "/voice/files/1", heading: "Demo message" },
  { path: "/voice/menus", heading: "Menus" },
  { path: "/voice/menus/new", heading: "New menu" },
  { path: "/voice/menus/1", heading: "Demo menu" },
  { path: "/voice/agents", heading: "AI agents" },
  { path: "/voice/agents/new", heading: "New AI agent" },
  { path: "/voice/agents/1", heading: "Demo agent" },
  { path: "/agents", heading: "Agents" },
  { path: "/telephony", heading: "Telephony" },
  { path: "/installation", heading: "Installation" },
  { path: "/calls", heading: "Calls" },
  { path: "/calls/new", heading: "Dialer" },
  { path: "/groups", heading: "Groups" },
  { path: "/groups/1", heading: "Demo customers" },
  { path: "/suppressions", heading: "Suppressions" },
  { path: "/reports", heading: "Reports" },
  { path: "/settings/account", heading: "Account" },
  { path: "/settings/workspaces", heading: "Workspaces" },
  { path: "/settings/erasures", heading: "Erasures" },
  { path: "/settings/credits", heading: "Credits" },
  { path: "/settings/audit", heading: "Audit trail" },
  { path: "/developers/tokens", heading: "API tokens" },
  { path: "/developers/callbacks", heading: "Callbacks" },
  { path: "/developers/events", heading: "Events" },
  { path: "/settings/lead-fields", heading: "Lead fields" },
  { path: "/settings/users", heading: "Users" },
  { path: "/settings/profile", heading: "Your profile" },
  { path: "/sign-in/forgot", heading: "Forgot your password?" },
  { path: "/sign-in/invitation", heading: "Invitation" },
  { path: "/no/such/page", heading: "There is nothing here" },
];

/** In an order that changes one thing at a time, forwards and backwards. */
const variants = [
  { colorScheme: "light", width: 1440 },
  { colorScheme: "light", width: 390 },
  { colorScheme: "dark", width: 390 },
  { colorScheme: "dark", width: 1440 },
] as const;

test("no page has errors, violations of the policy, barriers, motion that is not wanted, or needs to be scrolled sideways", async ({
  openPage,
  page,
  problems,
  service,
  settled,
}) => {
  // It opens every page: a busy machine must not decide it.
  test.setTimeout(1_200_000);
  let order: readonly (typeof variants)[number][] = variants;
  /** Checks the page in each variant without loading it again. */
  const check = async (path: string) => {
    await settled();
    for (const { colorScheme, width } of order) {
      const variant = `${path}, ${colorScheme}, ${width} px`;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      // Another scheme has other colors and nothing else.
      const options: RunOptions = {
        ...(colorScheme === "dark" ? { runOnly: ["color-contrast"] } : {}),
        resultTypes: ["violations"],
        // No rule that runs reads the style sheets.
        preload: false,
      };
      // The navigation is the same on each page.
      const context = { exclude: path === "/" ? [] : ["nav"] };
      const found = await page.evaluate(
        async ([run_context, run_options]) => {
          // A color that still changes has another contrast.
          for (const one of document.getAnimations())
            if (one instanceof CSSTransition) one.finish();
          const { violations } = await window.axe.run(run_context, run_options);
          const { scrollWidth, clientWidth } = document.documentElement;
          const cut = [...document.querySelectorAll("table")].filter(
            ({ offsetWidth, parentElement: frame }) =>
              offsetWidth > frame!.clientWidth && getComputedStyle(frame!).overflowX !== "auto",
          );
          return {
            moving: document.getAnimations().length,
            cut: cut.map((table) => table.ariaLabel),
            overflow: scrollWidth - clientWidth,
            barriers: violations.map(({ id, nodes }) => [id, nodes[0]?.html]),
          };
        },
        [context, options] as const,
      );
      expect(found, variant).toEqual({ moving: 0, cut: [], overflow: 0, barriers: [] });
    }
    order = order.toReversed();
  };
  await page.addInitScript({ content: axe.source });
  await page.goto(`${service.url}/sign-in`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  await check("/sign-in");
  const lead = await createLead(service, {
    phone: "9876543210",
    name: "Ada Lovelace",
    email: "ada.king.of.lovelace@example.com",
  });
  const campaign = await createCampaign(service, greetings, ["919876543210", "919875777001"]);
  const calls = await launchCalls(service, {
    campaign_name: "Announcement",
    call_type: "obd_ivr",
    number: "9875777701,9875777486",
  });
  const details = [
    { path: `/leads/${lead}`, heading: "Ada Lovelace" },
    { path: `/chat/campaigns/${campaign}`, heading: greetings },
    { path: `/voice/campaigns/${calls}`, heading: "Announcement" },
    { path: "/calls/1", heading: /^Call to/ },
  ];
  await openPage("/leads");
  for (const { path, heading } of [...pages, ...details]) {
    await follow(page, path);
    // The title of the page, not one of a section.
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    await check(path);
  }
  expect(problems).toEqual([]);
});
