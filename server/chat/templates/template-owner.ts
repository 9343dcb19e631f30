/** The business account that a template belongs to, or whose templates a number may send. */
export type TemplateOwner = { readonly driver: string; readonly business_account_id: string };

/** Whether a number of `owner` may send the template. */
export function belongsTo(template: TemplateOwner, owner: TemplateOwner): boolean {
  return (
    template.driver === owner.driver && template.business_account_id === owner.business_account_id
  );
}
