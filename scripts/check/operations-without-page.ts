/** Operations that the console does not use, by the reason. */
export const operations_without_page: readonly {
  readonly reason: string;
  readonly operations: readonly string[];
}[] = [
  {
    reason: "Provider webhooks, probes and the document are for machines",
    operations: [
      "subscribeWhatsappHook",
      "takeWhatsappHook",
      "subscribeOwnWhatsappHook",
      "takeOwnWhatsappHook",
      "readLiveness",
      "readReadiness",
      "readMetrics",
      "readOpenApi",
    ],
  },
  {
    reason: "The list of the same things has every field",
    operations: [
      "readUser",
      "readRole",
      "readWorkspace",
      "readChatNumber",
      "readExtension",
      "readAgentGroup",
      "readVoiceNode",
      "readTrunk",
      "readPhoneNumber",
      "readToken",
      "readCallbackReplay",
      "readChatFlow",
      "listLeadCollaborators",
      "listVoiceAttempts",
    ],
  },
  {
    reason: "The console shows or does the same another way",
    operations: [
      // A person's timeline and the list of leads.
      "readContact",
      "listContactLeads",
      // People are invited, and choose their own password.
      "createUser",
      // Members are added by the import, which takes one or a million.
      "addGroupMembers",
      // Holds are shown at what they hold: numbers, campaigns and the overview.
      "listChatHolds",
    ],
  },
  {
    reason: "The flow editor comes with the engine of automation",
    operations: [
      "listAutomationFlows",
      "createAutomationFlow",
      "readAutomationFlow",
      "updateAutomationFlow",
      "deleteAutomationFlow",
    ],
  },
];
