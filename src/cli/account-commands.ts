// What `cardea user` and `cardea admin` share: commands that do one thing to one account.
import { Argument, type Command } from 'commander'
import type { OperationName, OperationResult } from '../dialects/admin-api/operations.ts'
import type { CallInput, Control } from './client.ts'
import type { Context } from './context.ts'
import { addManaged, type PerformRules, parseName, perform } from './manage.ts'
import { renderLockout } from './shown-users.ts'

/** What a command does, and what it prints of the result. */
export interface AccountAction<T> extends PerformRules<T> {
  work(control: Control): Promise<T>
}

export const act = <N extends OperationName>(
  operation: N,
  input: CallInput,
  render: (result: OperationResult<N>) => string,
): AccountAction<OperationResult<N>> => ({ work: (control) => control.call(operation, input), render })

export type AddAccountCommand = ReturnType<typeof createAccountCommands>

/** Adds commands whose first argument is the name of an account. The caller adds further arguments and options. */
export const createAccountCommands =
  (
    parent: Command,
    context: Context,
    kind: string,
    explain: (account: string) => PerformRules<never>['explanations'],
  ) =>
  <T, A extends unknown[]>(
    name: string,
    description: string,
    toAction: (account: string, ...args: A) => AccountAction<T> | Promise<AccountAction<T>>,
    whose = `of the ${kind}`,
  ): Command => {
    const command = addManaged(parent, name, description)
    return command
      .addArgument(new Argument('<name>', whose).argParser(parseName))
      .action(async (account: string, ...args: A) => {
        const { work, ...rules } = await toAction(account, ...args)
        await perform(context, command.opts(), work, { explanations: explain(account), ...rules })
      })
  }

export const renderUnlocked =
  (name: string) =>
  ({ lockout }: OperationResult<'user.unlock'>): string =>
    lockout ? `${name} is unlocked (it was locked: ${renderLockout(lockout)}).` : `${name} was not locked.`

export const renderResetTotp =
  (name: string) =>
  ({ hadTotp }: { readonly hadTotp: boolean }): string =>
    hadTotp ? `${name} signs in without a one-time code.` : `${name} had no one-time code.`
