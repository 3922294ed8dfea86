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
function Cards({ account, resource }: CardsProps) {
  const mustSetUpFactor = useSession().mustSetUpFactor || account.mustSetUpFactor
  const password = (
    <Card title={texts.account.password}>
      <PasswordForm rules={account.passwordRules} />
    </Card>
  )
  if (account.mustChangePassword)
    return (
      <div class="stack wide">
        <p class="notice warning" role="status">
          {texts.account.mustChange}
        </p>
        {password}
      </div>
    )
  const factor = (
    <Card title={texts.account.secondFactor}>
      <SecondFactor state={account.totp} onChange={resource.reload} />
    </Card>
  )
  return (
    <div class="stack wide">
      {mustSetUpFactor && <FactorNotice isSet={!account.mustSetUpFactor} />}
      {mustSetUpFactor && factor}
      <Identity account={account} />
      {password}
      {!mustSetUpFactor && factor}
      {!account.mustSetUpFactor && <SessionsCard />}
      {!account.mustSetUpFactor && !account.isAdministrator && <TokenCard />}
    </div>
  )
}

/** The page keeps its recovery codes until the user goes on. */
const FactorNotice = ({ isSet }: { readonly isSet: boolean }) => (
  <div class={`notice row between ${isSet ? 'success' : 'warning'}`} role="status">
    <span>{isSet ? texts.account.factorIsSet : texts.account.mustSetUpFactor}</span>
    {isSet && <Button onClick={() => location.reload()}>{texts.account.goOn}</Button>}
  </div>
)

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
