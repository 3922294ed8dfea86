import { api } from '../../api/client.ts'
import type { Account } from '../../api/types.ts'
import { type Resource, useResource } from '../../api/use-resource.ts'
import { Page } from '../../frame/page.tsx'
import { useIsAdministrator, useSession } from '../../frame/session.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Chips, Facts, Heading } from '../../ui/parts.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { PasswordForm } from './password-form.tsx'
import { SecondFactor } from './second-factor.tsx'
import { SessionsCard } from './sessions-card.tsx'
import { TokenCard } from './tokens.tsx'

export function AccountPage() {
  const account = useResource('account', (signal) => api.get<Account>('/account', {}, signal))
  const isAdministrator = useIsAdministrator()
  return (
    <Page>
      <Heading text={isAdministrator ? texts.account.introAdministrator : texts.account.intro} />
      <Loaded resource={account} what={texts.account.what} shape="cards">
        {(data) => <Cards account={data} resource={account} />}
      </Loaded>
    </Page>
  )
}

interface CardsProps {
  readonly account: Account
  readonly resource: Resource<Account>
}

/** Before a required change of the password or a required second factor, nothing else can be done. */
const Cards = ({ account, resource }: CardsProps) => (
  <div class="stack wide">
    {account.mustChangePassword && (
      <p class="notice warning" role="status">
        {texts.account.mustChange}
      </p>
    )}
    {!account.mustChangePassword && <FactorNotice account={account} />}
    {!account.mustChangePassword && <Identity account={account} />}
    <Card title={texts.account.password}>
      <PasswordForm rules={account.passwordRules} />
    </Card>
    {!account.mustChangePassword && (
      <>
        <Card title={texts.account.secondFactor}>
          <SecondFactor state={account.totp} onChange={resource.reload} />
        </Card>
        {!account.mustSetUpFactor && <SessionsCard />}
        {!account.mustSetUpFactor && !account.isAdministrator && <TokenCard />}
      </>
    )}
  </div>
)

/** The page keeps its recovery codes until the user goes on. */
function FactorNotice({ account }: { readonly account: Account }) {
  const { mustSetUpFactor = false } = useSession()
  if (!account.mustSetUpFactor && !mustSetUpFactor) return null
  return (
    <div class="notice warning row between" role="status">
      <span>{account.mustSetUpFactor ? texts.account.mustSetUpFactor : texts.account.factorIsSet}</span>
      {!account.mustSetUpFactor && <Button onClick={() => location.reload()}>{texts.account.goOn}</Button>}
    </div>
  )
}

function Identity({ account: { name, roles, expires } }: { readonly account: Account }) {
  const { rights, server } = useSession()
  return (
    <Card title={texts.account.title}>
      <div class="inside">
        <Facts
          facts={[
            [texts.account.name, <span class="mono">{name}</span>],
            [texts.account.rights, texts.account.rightsOf[rights]],
            [texts.users.roles, roles.length > 0 ? <Chips items={roles} /> : texts.users.noRoles],
            [texts.users.expires, expires ? <Time at={expires} /> : texts.time.never],
            [texts.account.server, server],
          ]}
        />
      </div>
    </Card>
  )
}
