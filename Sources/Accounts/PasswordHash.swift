import CryptoExtras
import Support

/// The stored form of a password: its scrypt hash (RFC 7914) with salt and cost, so that the cost can be raised later.
struct PasswordHash: Sendable, Equatable {
  /// The cost of a hash, which takes 128 x rounds x block size bytes of memory.
  struct Cost: Sendable, Equatable {
    var rounds: Int64
    var blockSize: Int64
    var parallelism: Int64

    /// 32 MB and about 0.1 s for each hash.
    static let standard = Self(rounds: 32_768, blockSize: 8, parallelism: 1)
  }

  var salt: [UInt8]
  var hash: [UInt8]
  var cost: Cost

  init(salt: [UInt8], hash: [UInt8], cost: Cost) {
    self.salt = salt
    self.hash = hash
    self.cost = cost
  }

  /// Hashes a new password with a random salt of 16 bytes.
  init(of password: String, cost: Cost) throws {
    let salt = [UInt8].random(count: 16)
    self.init(salt: salt, hash: try Self.derive(password, salt: salt, cost: cost), cost: cost)
  }

  func matches(_ password: String) throws -> Bool {
    let other = try Self.derive(password, salt: salt, cost: cost)
    guard other.count == hash.count else { return false }
    // Compares all bytes, so that the time does not reveal where they differ.
    return zip(hash, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private static func derive(_ password: String, salt: [UInt8], cost: Cost) throws -> [UInt8] {
    // Normalised, because keyboards encode the same characters differently.
    let bytes = Array(UnicodeForm.nfkc(password).utf8)
    let key = try KDF.Scrypt.deriveKey(
      from: bytes, salt: salt, outputByteCount: 32, rounds: Int(cost.rounds), blockSize: Int(cost.blockSize),
      parallelism: Int(cost.parallelism))
    return key.withUnsafeBytes { [UInt8]($0) }
  }
}

extension [UInt8] {
  /// Cryptographically secure random bytes.
  static func random(count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }
}
