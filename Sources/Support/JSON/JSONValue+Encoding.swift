extension JSONValue {
  /// Makes a document of an `Encodable` value, without Foundation. Members are in the order in which the value encodes
  /// them, so that equal values give equal bytes.
  package init(encoding value: some Encodable) throws {
    let node = JSONNode()
    try value.encode(to: JSONValueEncoder(node: node, codingPath: []))
    self = node.json
  }
}

/// A value under construction: a container is returned before it is filled.
private final class JSONNode {
  var value: JSONValue?
  var members: [(name: String, node: JSONNode)] = []
  var items: [JSONNode] = []
  var isArray = false

  var json: JSONValue {
    if let value { return value }
    return isArray ? .array(items.map(\.json)) : .object(members.map { JSONValue.Member($0.name, $0.node.json) })
  }

  func member(_ name: String) -> JSONNode {
    let node = JSONNode()
    members.append((name, node))
    return node
  }

  func item() -> JSONNode {
    let node = JSONNode()
    items.append(node)
    return node
  }
}

private struct JSONValueEncoder: Encoder, SingleValueEncodingContainer {
  let node: JSONNode
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed(node: node, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.isArray = true
    return Unkeyed(node: node, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { node.value = .null }
  func encode(_ value: Bool) throws { node.value = .bool(value) }
  func encode(_ value: String) throws { node.value = .string(value) }
  func encode(_ value: Double) throws { node.value = .number(value) }
  func encode(_ value: Float) throws { node.value = .number(Double(value)) }
  func encode(_ value: Int) throws { node.value = .number(value) }
  func encode(_ value: Int8) throws { node.value = .number(String(value)) }
  func encode(_ value: Int16) throws { node.value = .number(String(value)) }
  func encode(_ value: Int32) throws { node.value = .number(String(value)) }
  func encode(_ value: Int64) throws { node.value = .number(String(value)) }
  func encode(_ value: UInt) throws { node.value = .number(String(value)) }
  func encode(_ value: UInt8) throws { node.value = .number(String(value)) }
  func encode(_ value: UInt16) throws { node.value = .number(String(value)) }
  func encode(_ value: UInt32) throws { node.value = .number(String(value)) }
  func encode(_ value: UInt64) throws { node.value = .number(String(value)) }
  func encode<T: Encodable>(_ value: T) throws { try value.encode(to: self) }

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: JSONNode
    let codingPath: [any CodingKey]

    private func encoder(_ key: any CodingKey) -> JSONValueEncoder {
      JSONValueEncoder(node: node.member(key.stringValue), codingPath: codingPath + [key])
    }

    mutating func encodeNil(forKey key: Key) throws { try encoder(key).encodeNil() }
    mutating func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try value.encode(to: encoder(key)) }
    mutating func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { encoder(key).container(keyedBy: type) }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      encoder(key).unkeyedContainer()
    }
    mutating func superEncoder() -> any Encoder { encoder(JSONKey(stringValue: "super")) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }
  }

  private struct Unkeyed: UnkeyedEncodingContainer {
    let node: JSONNode
    let codingPath: [any CodingKey]
    var count: Int { node.items.count }

    private func encoder() -> JSONValueEncoder {
      JSONValueEncoder(node: node.item(), codingPath: codingPath + [JSONKey(intValue: count)])
    }

    mutating func encodeNil() throws { try encoder().encodeNil() }
    mutating func encode<T: Encodable>(_ value: T) throws { try value.encode(to: encoder()) }
    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
      encoder().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder().unkeyedContainer() }
    mutating func superEncoder() -> any Encoder { encoder() }
  }
}
