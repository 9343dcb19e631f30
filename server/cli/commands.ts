// Every command of the command line.
import { accountCommands } from "./account-commands.ts";
import type { Command } from "./command.ts";
import { creditCommands } from "./credit-commands.ts";
import { distributeCommand } from "./distribute/distribute-command.ts";
import { doctorCommand } from "./doctor/doctor-command.ts";
import { migrateCommand } from "./migrate-command.ts";
import { nodeCommands } from "./node-commands.ts";
import { numberCommands } from "./number-commands.ts";
import { reportCommands } from "./report-commands.ts";
import { moveCommands } from "./account-move/move-commands.ts";
import { restoredCommand } from "./restored/restored-command.ts";
import { roleCommands } from "./role-commands.ts";
import { secretCommands } from "./secret-commands.ts";
import { tokenCommands } from "./token-commands.ts";
import { trunkCommands } from "./trunk-commands.ts";
import { userCommands } from "./user-commands.ts";
import { webhookCommands } from "./webhook-commands.ts";
import { whatsappCommands } from "./whatsapp-commands.ts";

export const commands: readonly Command[] = [
  migrateCommand,
  distributeCommand,
  ...accountCommands,
  ...moveCommands,
  ...userCommands,
  ...roleCommands,
  ...tokenCommands,
  ...creditCommands,
  ...nodeCommands,
  ...trunkCommands,
  ...numberCommands,
  ...whatsappCommands,
  ...webhookCommands,
  ...reportCommands,
  ...secretCommands,
  restoredCommand,
  doctorCommand,
];
