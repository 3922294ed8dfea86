import { Command } from 'commander'
import { createFolder, isFolderMade } from '../app/folder.ts'
import { type Context, ExitError } from './context.ts'

/** `cardea init`: a folder with a configuration, one administrator and key files. */
export function initCommand(context: Context): Command {
  return new Command('init')
    .description('make a folder with a configuration, an administrator and keys')
    .argument('[folder]', 'where', 'data')
    .action(async (folder: string) => {
      if (isFolderMade(folder)) throw new ExitError(1, `${folder} has a configuration already: nothing was changed.`)
      context.print(renderMade(await createFolder(folder)))
      context.print(`\nStart it with\n  cardea serve --config ${folder}`)
    })
}

/** The password is shown here and nowhere else. */
export const renderMade = ({ folder, administrator, password }: Awaited<ReturnType<typeof createFolder>>): string =>
  `Made ${folder}/ with a configuration, keys and one administrator:

  name      ${administrator}
  password  ${password}

This is the only time the password is shown; only its hash is kept.`
