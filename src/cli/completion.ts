// Completion of shells and the manual page: both are derived from the commands themselves.
import { Argument, Command } from 'commander'
import { PRODUCT } from '../base/product.ts'
import type { Context } from './context.ts'

/** `cardea completion`: prints what a shell loads to complete commands and options. */
export const completionCommand =
  (loadProgram: () => Promise<Command>) =>
  (context: Context): Command =>
    new Command('completion')
      .description('print the completion of commands and options for a shell, or the manual page')
      .addArgument(new Argument('<shell>', 'bash: source <(cardea completion bash)').choices(Object.keys(RENDER)))
      .action(async (shell: keyof typeof RENDER) => context.print(RENDER[shell](await loadProgram()).trimEnd()))

interface Row {
  /** Its words after `cardea`; empty: the program itself. */
  readonly path: readonly string[]
  readonly command: Command
}

const listRows = (command: Command, path: readonly string[] = []): readonly Row[] => [
  { path, command },
  ...command.commands.flatMap((each) => listRows(each, [...path, each.name()])),
]

const listOptions = ({ options }: Command) => options.filter(({ hidden }) => !hidden)

const toWords = ({ command }: Row): string =>
  [...command.commands.map((each) => each.name()), ...listOptions(command).map(({ long }) => long), '--help'].join(' ')

function renderBash(program: Command): string {
  const rows = listRows(program)
  const known = rows.slice(1).map(({ path }) => `" ${path.join(' ')}"`)
  const cases = rows.map((row) => `    "${['', ...row.path].join(' ')}") words="${toWords(row)}" ;;`)
  return `_cardea() {
  local path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
      ${known.join('|')}) path="$path $word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _cardea cardea
`
}

const renderZsh = (program: Command): string =>
  `#compdef cardea\nautoload -U +X bashcompinit && bashcompinit\n${renderBash(program)}`

const quote = (text: string): string => `'${text.replaceAll(/['\\]/g, '\\$&')}'`

function renderFish(program: Command): string {
  const seen = (path: readonly string[]) => path.map((word) => `__fish_seen_subcommand_from ${word}`)
  const lines = listRows(program).flatMap(({ path, command }) => {
    const names = command.commands.map((each) => each.name())
    const before = [...seen(path), ...(names.length > 0 ? [`not __fish_seen_subcommand_from ${names.join(' ')}`] : [])]
    const when = `complete -c cardea${before.length > 0 ? ` -n ${quote(before.join('; and '))}` : ''}`
    return [
      ...command.commands.map((each) => `${when} -f -a ${each.name()} -d ${quote(each.description())}`),
      ...listOptions(command).map(({ long, description }) => `${when} -l ${long?.slice(2)} -d ${quote(description)}`),
    ]
  })
  return `${lines.join('\n')}\n`
}

/** A line that begins with a dot or an apostrophe would be a request. */
const toRoff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')

export function renderMan(program: Command): string {
  const commands = listRows(program)
    .slice(1)
    .map(({ path, command }) => {
      const usage = command.usage().replace('[options]', '').trim()
      const options = listOptions(command).map(
        ({ flags, description }) => `.TP\n.B ${toRoff(flags)}\n${toRoff(description)}`,
      )
      return [`.SS cardea ${path.join(' ')} ${toRoff(usage)}`, toRoff(command.description()), ...options].join('\n')
    })
  return `.TH CARDEA 1 "" "${PRODUCT.name} ${PRODUCT.version}"
.SH NAME
cardea \\- ${toRoff(program.description())}
.SH SYNOPSIS
.B cardea
command [options]
.SH COMMANDS
${commands.join('\n')}
`
}

const RENDER = { bash: renderBash, zsh: renderZsh, fish: renderFish, man: renderMan } as const
