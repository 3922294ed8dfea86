import { Command } from 'commander'
import { DEFAULT_FOLDER } from './choose-configs.ts'
import type { Context } from './context.ts'
import { isFolderMade } from './folder.ts'
import { makeFolder, renderMade } from './init.ts'
import { type Greeting, serve } from './serve.ts'

/** `cardea start`: `init` if needed, then `serve`. */
export function startCommand(context: Context): Command {
  return new Command('start')
    .description('initialise if needed, then start the server')
    .argument(
      '[folder]',
      `where the configuration and the store are (default: "${DEFAULT_FOLDER}", unless --config is given)`,
    )
    .action(async (given: string | undefined) => {
      const { configs } = context.flags
      // with an explicit configuration no default folder is created
      const isNamed = configs.length > 0 || Boolean(context.env['CARDEA_CONFIG'])
      if (given === undefined && isNamed) return serve(context, configs, (app) => renderGreeting(app))
      const folder = given ?? DEFAULT_FOLDER
      const made = isFolderMade(folder) ? undefined : await makeFolder(folder)
      if (made) context.print(`${renderMade(made)}\n`)
      await serve(context, [folder, ...configs], (greeting) => renderGreeting(greeting, made?.password))
    })
}

function renderGreeting({ addresses }: Greeting, password = 'PASSWORD'): string {
  const [document] = addresses.document
  const [multiModel] = addresses.multiModel
  const places = [
    ...addresses.document.map((url) => `  document door     ${url}`),
    ...addresses.multiModel.map((url) => `  multi-model door  ${url}`),
    ...addresses.admin.map((url) => `  admin endpoint    ${url}`),
  ]
  const commands = [
    document && `  curl ${renderPlace(document)}/_up`,
    document && `  curl -u 'admin:${password}' ${renderPlace(document)}/_session`,
    multiModel && `  curl -u 'admin:${password}' ${renderPlace(multiModel)}/_api/version`,
  ].filter(Boolean)
  return `Cardea is open:\n${places.join('\n')}\n\nTry:\n${commands.join('\n')}\n\nStop with Ctrl-C.`
}

/** The address as curl takes it, for a path to be added. */
const renderPlace = (address: string): string =>
  address.startsWith(UNIX) ? `--unix-socket ${address.slice(UNIX.length)} http://localhost` : address

const UNIX = 'unix://'
