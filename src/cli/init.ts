import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command } from 'commander'
import { codeOf, messageOf } from '../base/errors.ts'
import { type Context, commandError } from './context.ts'
import { createFolder, isFolderMade, type MadeFolder } from './folder.ts'

/** `cardea init`: a folder with a configuration, one administrator and key files. */
export const initCommand = (context: Context): Command =>
  new Command('init')
    .description('make a folder with a configuration, an administrator and keys')
    .argument('[folder]', 'where', 'data')
    .action(async (folder: string) => {
      requireNoOptions(context)
      const made = isFolderMade(folder) ? undefined : await makeFolder(folder)
      if (!made) throw commandError(`${folder} has a configuration already: nothing was changed.`)
      context.print(renderMade(made))
      context.print(`\nStart it with\n  cardea serve --config ${folder}`)
    })

/** Options given here would be ignored; they belong into the file of the folder. */
function requireNoOptions({ flags: { flags, configs } }: Context): void {
  const given = [...configs.map(() => '--config'), ...flags.map(({ section, key }) => `--${section}.${key}`)]
  if (given.length === 0) return
  throw commandError(`init takes no options of the configuration: ${given.join(', ')}. Give them to serve or start.`)
}

export async function makeFolder(folder: string): Promise<MadeFolder | undefined> {
  try {
    return await createFolder(folder)
  } catch (error) {
    const reason = isReadOnly(folder)
      ? 'the file system is read-only. Remount it for writing, or choose another folder.'
      : messageOf(error)
    throw commandError(`${folder} cannot be made: ${reason}`)
  }
}

/** Asks for the nearest folder that exists: Node's `mkdir` reports ENOENT where it cannot create a parent folder. */
function isReadOnly(folder: string): boolean {
  const path = resolve(folder)
  if (!existsSync(path) && dirname(path) !== path) return isReadOnly(dirname(path))
  try {
    accessSync(path, constants.W_OK)
    return false
  } catch (error) {
    return codeOf(error) === 'EROFS'
  }
}

/** The only place where the password is shown. */
export const renderMade = ({ folder, administrator, password }: MadeFolder): string =>
  `Made ${folder}/ with a configuration, keys and one administrator:

  name      ${administrator}
  password  ${password}

This is the only time the password is shown; only its hash is kept.
New passwords need at least 12 characters, and known ones are refused: see [auth] in the configuration.`
