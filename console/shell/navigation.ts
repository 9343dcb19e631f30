/** The main navigation: each area with the permission without which it is not shown. */
export const navigation = [{ to: "/leads", label: "Leads", permission: "crm.read" }] as const;
