// What holds for every page, in both color schemes, on narrow and wide screens.
import { AxeBuilder } from "@axe-core/playwright";
import { createCampaign, createLead, expect, test } from "./console-fixture.ts";

const pages = [
  { path: "/leads", heading: "Leads" },
  { path: "/leads/1", heading: "Ada Lovelace" },
  { path: "/people/+919876543210", heading: "+919876543210" },
  { path: "/chat/campaigns", heading: "Chat campaigns" },
  { path: "/chat/campaigns/new", heading: "New chat campaign" },
  { path: "/chat/replies", heading: "Replies" },
  { path: "/chat/replies/+919876777005", heading: "+919876777005" },
  { path: "/groups", heading: "Groups" },
  { path: "/groups/1", heading: "Demo customers" },
  { path: "/suppressions", heading: "Suppressions" },
  { path: "/settings/users", heading: "Users" },
  { path: "/settings/profile", heading: "Your profile" },
  { path: "/sign-in/forgot", heading: "Forgot your password?" },
  { path: "/sign-in/invitation", heading: "Invitation" },
  { path: "/no/such/page", heading: "There is nothing here" },
];

for (const colorScheme of ["light", "dark"] as const)
  for (const width of [390, 1440]) {
    test.describe(`${colorScheme}, ${width} px`, () => {
      test.use({ colorScheme, viewport: { width, height: 900 } });

      test("no page has errors, violations of the policy, barriers, or needs to be scrolled sideways", async ({
        openPage,
        page,
        problems,
        service,
      }) => {
        const check = async (name: string) => {
          const { violations } = await new AxeBuilder({ page }).analyze();
          expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
          const overflow = await page.evaluate(
            () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
          );
          expect(overflow, name).toBe(0);
        };
        // It opens every page: a busy machine must not decide it.
        test.setTimeout(180_000);
        await page.goto(`${service.url}/sign-in`);
        await page.getByRole("heading", { name: "Sign in" }).waitFor();
        await check("/sign-in");
        // The first of them is /leads/1.
        await createLead(service, { phone: "9876543210", name: "Ada Lovelace" });
        const campaign = await createCampaign(service, "Greetings", [
          "919876543210",
          "919876777001",
        ]);
        const detail = { path: `/chat/campaigns/${campaign}`, heading: "Greetings" };
        await openPage("/leads");
        for (const { path, heading } of [...pages, detail]) {
          await page.goto(service.url + path);
          await page.getByRole("heading", { name: heading }).waitFor();
          await page.waitForLoadState("networkidle");
          await check(path);
        }
        expect(problems).toEqual([]);
      });
    });
  }
