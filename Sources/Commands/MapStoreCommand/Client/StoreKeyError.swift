/// Why a file is none of a made-up store's keys.
struct StoreKeyError: Error, CustomStringConvertible {
  let description: String
  let isUnreadable: Bool
}
