# ruff: noqa: E501  (a question with its alternatives stays on one line)
"""More ways to ask, for the last stage: looser, longer and shorter than those of the topics themselves."""

from __future__ import annotations

_WHO = "[my son|my daughter|my wife|my husband|my friend|my guest|my mother]"

MORE: dict[str, tuple[str, ...]] = {
    "where": ("[Wheres|Where's|Where is] [my stuff|the food|my meal|my lunch|dinner|my bag|the rider|the driver|my {dish}]?", "[Any idea|Do you know] where [my food|the order|the courier|dinner] is?", "[It is|It has been] [an hour|forever|so long]. Where is [it|my food|my order]?", "[What happened to|What is taking|Did you lose] my [order|food|dinner]?", "[Is anybody|Is someone] [coming|bringing it|on the way]?", "[How far away|How close] is [the courier|my food|{courier}|it]?", "Where [did|has] [my order|my food|it|the bag] [go|gone]?", "I [still|] do not [see|have] my [food|order|dinner] [yet|anywhere]."),
    "late": ("[This|My order|It] is [way too|really|very|so] late.", "[You promised|They promised|I was told] {promised}[ and it is later than that|].", "[Still no food|Still nothing here|No food yet].", "[I am|We are] [hungry|starving|still hungry][ and still waiting|].", "[Why|What] [the delay|is the hold up|takes so long]?", "[It has been|I have waited] [ages|an hour|forever]."),
    "missing": ("[Somebody|You|They|The restaurant] [left out|forgot about] the {dish}.", "[Everything came except|All is here but|I got everything but] the {dish}.", "[No {dish} in the bag|There was no {dish} in the bag|I paid for a {dish} and did not get it].", "[I am missing|I miss|We are missing] [a|the|my] {dish}.", "[The {dish} did not come|The {dish} did not arrive|The {dish} is not here|No {dish} came]."),
    "cold": ("[The {dish} is ice cold|The {dish} was not warm|My {dish} leaked everywhere|The {dish} looks awful].", "[This is not the {dish} I ordered|The {dish} is not what I ordered].", "[I cannot eat|Nobody could eat] the {dish}, it is [cold|burnt|soggy]."),
    "cancel": ("[Stop|Forget|Call off|Undo] [the|my] order[, please|].", "[I changed my mind|Changed my mind][, cancel it|, no food please|].", "[Is there|Do I have] [still time|any way] to cancel?", "Can I [still|] get out of [this|the] order?"),
    "move": ("[Can|Could] [the courier|{courier}|it] [go|come|drive] to [my office|my work|another place|a different door]?", "[I am at work now|I just moved|I am at a friend's place][, can you change where it goes|, please change the address].", "[Wrong address|Wrong street|The house number is wrong][, can you fix it|]."),
    "refund": ("[I am not happy|I am unhappy] and want [my money|a refund].", "[How do I get|Where do I get] [a refund|my money back] for this?", "[Money back please|Give me my money back|I need a refund]."),
    "refund time": ("[Has|When will] the [refund|money] [arrive|arrived|come] [on my card|]?", "[How many days|How long] until [I see the money|the refund is there|the money is back]?"),
    "credit": ("[What about|Will there be|Are you giving me] [a credit|something for the delay|a voucher]?", "[It is late|You are late], [what do I get|do I get something]?"),
    "thanks": ("[Thank you, you were a great help|Nice, thank you|Thanks a lot|Thx|Very kind of you|You are the best|Awesome, thanks|Ok thank you, bye|Good night|See you].", "[All good|That helps|That is what I needed][, thank you|, thanks|]."),
    "hello": ("[Good morning|Hi Courier|Hello Courier|Hello again|Hi, it is me|Greetings|Yo].", "[What can you do|How can you help me|What can I ask you]?"),
    "courier": ("[Who has|Who rides with|Who carries|Which person has] my [food|order|dinner]?", "[Name of the rider|Name of the driver|Driver's name|Who is the rider|Who is the driver][, please|]?", "[Who shall I look out for|Who will ring the bell|Who is at the door]?"),
    "address": ("[Where are you taking it|Where are you bringing it|Where is it headed|Where is it being delivered]?", "[Which street|What street|Which house] [is it going to|does it go to|did I put in]?", "Did I [type|put in|use] the right address?"),
    "number": ("[My order number|The order number|What number do I give|What is the number][, please|]?", "[I lost|I forgot] my order number."),
    "restaurant": ("[Which|What] [kitchen|place] [makes it|is it from|is making it]?", "[Where does this food come from|Who is making dinner|From which restaurant]?"),
    "ordered": ("[When exactly|At what hour] did I [order|buy this]?", "[How long ago did I order|When did this order start]?"),
    "promised": ("[When should it have been here|When was it meant to come|What was the original time|What time did you say]?",),
    "when": ("[When can I eat|When do we eat|What is the arrival time|Arrival time|ETA|What is the ETA]?", "[How soon|By when] [will it be here|is it here|can I expect it]?", "[When|What time] [is|was] [the delivery|it here|dinner]?"),
    "delay": ("[How many minutes|How much] [late is it|delay is there|longer than promised]?", "[Is it running late|Is it behind schedule|Are you late]?"),
    "total": ("[What was I charged|What did you charge me|How much money was it|What did it all cost|How much did you take]?", "[The total|Total|Sum|What is the bill|How expensive was it][, please|]?"),
    "price": ("[What was the {dish}|How expensive is the {dish}|What did you charge for the {dish}|How much for the {dish}]?", "[{dish} price|And the {dish}, how much|The {dish} costs how much]?"),
    "count": ("[Number of {dish}|How many {dish}|How many {dish} did I buy]?", "[Did I order one {dish} or more|How often did I order the {dish}]?"),
    "status": ("[How is my order doing|What is happening|Status|Order status|What stage is it at|How far is it]?", "[Update|News|Tell me the status|Please check my order]."),
    "promo": ("[Did my code work|Did the code work|Was my discount applied|Did I get a discount|How much off did I get]?", "[What about my promo code|Which discount was used|Is my promo code on it]?"),
    "allergens": ("[What should I know about|What allergens are inside|What is inside] the {dish}?", "[Does the {dish} contain anything|Is there anything in the {dish}] [I should know about|that people react to]?", "[Ingredients|Allergy info|Allergens] [of|for] the {dish}[, please|]?"),
    "items": ("[What have I got|What am I getting|What is coming|What food did I order|Remind me what I ordered]?", "[The list of items|Items|My items|Contents of the bag|What will be in the bag][, please|]?"),
    "itemised": ("[Can I see|I want to see|Please show me] [the bill|the receipt|all prices|what everything cost]?", "[Break it down for me|Price of every item|Every item with its price|The bill][, please|]."),
    "timeline": ("[Take me through the times|What happened when|When did everything happen|All times of my order][, please|].",),
    "report": ("[I want|Please send me|Can I get|Give me] [all the details|every detail|everything you have|the whole story] [on|about|of] [my order|order {number}|this order].", "[Please|Can you|Could you] [make|prepare|produce|do] a [full|complete|detailed|long] [report|summary|overview] [of|about|on] [my order|order {number}|it all|what I bought].", "[A report|The report|Detailed report|Full details|All details][, please|]."),
    "letter": ("[Please complain|Complain|Write a complaint] to [the restaurant|{restaurant}] about [my|the] {dish}.", "[Tell|Let] [the restaurant|{restaurant}] [in writing|know in a letter] that the {dish} was [bad|missing|cold]."),
    "allergy, yes or no": ("[Is there|Are there|Did they put] [any|some|] {what} in[ the|] {dish}?", "[{what} in the {dish}|Any {what} in the {dish}|The {dish}, does it have {what}]?", "Does[ the|] {dish} come with {what}?"),
    "allergy, to eat": (f"{_WHO} is allergic to {{what}}. [Can they eat|Is it safe to eat] the {{dish}}?", f"{_WHO} [does not tolerate|reacts to|must not eat] {{what}}. [Can they have|Can I serve] the {{dish}}?", "I [cannot have|cannot eat|react to|do not tolerate|must avoid] {what}. [Is|Can I have] the {dish}[ all right| safe| okay|]?", "Is the {dish} [safe|okay|all right] with a {what} allergy?"),
    "allergy, anything": ("[Anything|Something|What] with {what} in [it|my order|the bag]?", f"{_WHO} is allergic to {{what}}. [What is not safe|What should they avoid|Which dishes are out]?", "[Does anything|Does something] [contain|have] {what}?"),
    "off topic": ("[How tall is|Who painted|Who invented|When was] [Mount Everest|the Mona Lisa|the telephone|Napoleon born]?", "[What do you think about|Tell me about|Explain] [politics|football|the moon|physics|history|love|quantum computers].", "[Can you|Please] [sing|dance|do my homework|play chess|book a flight|call my mother].", "What is [nine times nine|the meaning of life|your favourite colour|a good film]?", "[How do I|Can I] [fix my bike|cook rice|learn French|lose weight|plant a tree]?"),
}
#: other names of what one can do in the app, by guide
MORE_GUIDES: dict[str, str] = {
    "address": "[save|store|set|enter|update] [a new|another|my home|my] [address|delivery address]", "promo": "[redeem|enter|apply|type in] [a code|a voucher|my promo code|a discount code]",
    "tip": "[give|leave|send] [a tip|some money|something extra] [for the rider|to the courier|for {courier}]", "call": "[phone|ring|message|write to|speak to] [the rider|the driver|{courier}|the courier]",
    "receipt": "[see|print|save|have] [the receipt|a bill|my invoice|a receipt for work]", "report": "[complain about|tell you about|claim] [a missing dish|a wrong order|bad food|something wrong]",
    "card": "[register|save|use|pay with|switch to] [a new card|another card|a different card|a credit card]", "again": "[get|buy|order] [my last order|the same meal|the same food] [again|once more]",
    "later": "[order now for tomorrow|get food delivered later|set a delivery time|preorder]", "allergy": "[tell the app about|enter|add|mark] [my allergy|an allergy|what I cannot eat]",
    "delete": "[get rid of|cancel|leave|erase] [my account|my profile|the app]", "rate": "[give stars to|leave a review of|score|comment on] [the restaurant|the meal|my order]",
}
