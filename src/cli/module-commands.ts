// Groups of commands that modules bring.
import { Command } from 'commander'
import { MODULE_COMMANDS } from '../modules.ts'
import { type Context, commandError } from './context.ts'
import { addManaged, type ManageOptions, manage, report } from './manage.ts'
import { createProgress } from './transfer/progress.ts'

export const databasesCommand = (context: Context): Command =>
  createGroup(context, 'databases', 'manage the databases behind the doors')

export const livesyncCommand = (context: Context): Command =>
  createGroup(context, 'livesync', 'manage vaults of Obsidian LiveSync')

export const directoryCommand = (context: Context): Command =>
  createGroup(context, 'directory', 'move users between Cardea and the CouchDB behind the document door')

function createGroup(context: Context, group: string, about: string): Command {
  const parent = new Command(group).description(about)
  for (const row of MODULE_COMMANDS.filter((each) => each.group === group)) {
    const command = addManaged(parent, row.name, row.description)
    for (const [flags, help] of row.arguments ?? []) command.argument(flags, help)
    for (const [flags, help, otherwise] of row.options ?? []) command.option(flags, help, otherwise)
    command.action(async () => {
      const options = command.opts<ManageOptions & Readonly<Record<string, string>>>()
      const progress = createProgress(row.name)
      const given = { arguments: command.args, options, progress: progress.update }
      const { result, text, problem } = await manage(
        context,
        options,
        (control) => row.run((operation, input) => control.call(operation, input), given),
        { needsServer: true },
      ).finally(progress.clear)
      report(context, options, result, () => text)
      if (problem !== undefined) throw commandError(problem)
    })
  }
  return parent
}
