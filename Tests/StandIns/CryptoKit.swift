// CryptoKit for a test that type-checks files for Apple's platforms: swift-crypto declares the same interface, and is
// built for the servers in any case.
@_exported import Crypto
