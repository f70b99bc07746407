"""The app: a curator's page in the browser, which shows what the verbs answer."""
